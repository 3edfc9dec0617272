// Requests that this process brought in itself, over its listener, its mailbox, or the runtime. Known by the identity of their
// bytes, so nothing that a request can contain, header or body, makes it one of them.
import type { RawRequest, RejectReason, TransportAnswer } from '../../../src/contract/index.ts'
import { mailAsRequest, type ReceivedMail } from '../wire/mail.ts'

/** What an ingress knows of a mail it brought in: the mail, or why it will never be taken. */
export type OwnMail =
  | { readonly kind: 'mail'; readonly mail: ReceivedMail }
  | { readonly kind: 'rejected_event'; readonly reason: string; readonly remedy: string }

export type OwnMailRegistry = {
  readonly add: (mail: ReceivedMail) => RawRequest
  /** Only the head of it was fetched: the rest is more than we take. */
  readonly addTooLarge: (mail: ReceivedMail) => RawRequest
  readonly find: (rawRequest: RawRequest) => OwnMail | undefined
}

export function createReceivedMailRegistry(): OwnMailRegistry {
  const own = new WeakMap<Uint8Array, OwnMail>()
  const registerMail = (mail: ReceivedMail, known: OwnMail): RawRequest => {
    own.set(mail.raw, known)
    const isHere = mail.way === 'smtp' && isLoopbackIp(mail.envelope.clientIp)
    return { ...mailAsRequest(mail), from: isHere ? 'guest' : 'remote' }
  }
  return {
    add: (mail) => registerMail(mail, { kind: 'mail', mail }),
    addTooLarge: (mail) => registerMail(mail, mailTooLarge),
    find: ({ bytes }) => own.get(bytes),
  }
}

function isLoopbackIp(ip: string | undefined): boolean {
  return ip !== undefined && (ip === '::1' || /^127(?:\.\d{1,3}){3}$/.test(ip))
}

// An ingress is verified into a mail whose envelope may be believed, or why there is none.

export type IngressResult =
  | { readonly kind: 'mail'; readonly mail: ReceivedMail }
  | { readonly kind: 'handshake'; readonly answer: TransportAnswer }
  | { readonly kind: 'rejected'; readonly reason: RejectReason }
  | { readonly kind: 'later'; readonly reason: string }
  | { readonly kind: 'rejected_event'; readonly reason: string; readonly remedy: string }

export function rejectedRequest(reason: RejectReason): IngressResult {
  return { kind: 'rejected', reason }
}

export const mailTooLarge = { kind: 'rejected_event', reason: 'mail_too_large', remedy: 'send a smaller mail' } as const

// Which agent an address means is asked by an ingress before a mail is read.

/**
 * agent: a mail to it may start a turn; bounce: an address of ours that only takes reports; disabled: an agent that takes no mail
 * now; unknown: no agent has this address in a domain of ours; foreign: another domain, for which nothing is passed on.
 */
export type RecipientKind = 'agent' | 'bounce' | 'disabled' | 'unknown' | 'foreign'

export type ClassifyRecipient = (address: string) => RecipientKind | Promise<RecipientKind>
