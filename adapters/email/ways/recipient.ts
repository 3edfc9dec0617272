// Which agent an address means, as far as an ingress has to know: it is asked before a mail is read.

/**
 * agent: a mail to it may start a turn; bounce: an address of ours that only takes reports; disabled: an agent that takes no mail
 * now; unknown: no agent has this address in a domain of ours; foreign: another domain, for which nothing is passed on.
 */
export type RecipientKind = 'agent' | 'bounce' | 'disabled' | 'unknown' | 'foreign'

export type ClassifyRecipient = (address: string) => RecipientKind | Promise<RecipientKind>
