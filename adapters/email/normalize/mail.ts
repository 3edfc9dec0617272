// Hop 3: normalizes one mail into one message for each envelope recipient, or into the reason why it is ignored. Pure.
import {
  type Connection,
  formatAddress,
  type IgnoredEvent,
  type InboundEvent,
  type InboundMessage,
  type OnceClaim,
  type RawRequest,
} from '../../../src/contract/index.ts'
import { maxHops } from '../manners/hop.ts'
import { whyNotAnswered } from '../manners/never-answer.ts'
import { reportFacts } from '../manners/reports.ts'
import { threadName } from '../threads/key.ts'
import type { MailProof } from '../wire/judged.ts'
import type { VerifiedMail, VerifiedRecipient } from '../wire/read.ts'
import { countedHead } from '../wire/signed-fields.ts'
import { mailChannelContext } from './context.ts'
import { mailParts } from './parts.ts'
import { keptRawMail } from './raw.ts'
import { type Addresses, isOurAddress, resolveRecipient } from './recipients.ts'
import { mailReplyTo } from './reply-to.ts'
import { mailboxSubject, mailSender, provenAuthor } from './sender.ts'

/** What is known of the connection beside its name. */
export type MailContext = { readonly addresses: Addresses; readonly addressDomains: readonly string[] }

type AgentRecipient = Extract<VerifiedRecipient, { kind: 'agent' }>

/** Of an id or a thread's name: what is longer stands in the raw mail only. */
const maxIdLength = 500

export function normalizeMail(
  scene: MailContext,
  mail: VerifiedMail,
  arrival: RawRequest,
  connection: Connection,
): readonly InboundEvent[] {
  const agents = new Map<string, AgentRecipient>()
  const reports: IgnoredEvent[] = []
  for (const recipient of mail.recipients) {
    if (recipient.kind === 'bounce') reports.push(eventFromReport(scene, mail, recipient))
    // The same agent under two addresses of one mail is asked once; the address that names its thread says the most.
    if (recipient.kind === 'agent' && (agents.get(recipient.agent)?.tokenKey ?? undefined) === undefined)
      agents.set(recipient.agent, recipient)
  }
  const messages = [...agents.values()].map((each) => messageFromMail(scene, mail, each, { arrival, connection }))
  const all = [...reports, ...messages]
  return all.length === 0 ? [ignoredMail(scene, mail, mail.envelope.rcptTo[0] ?? '', 'unknown_recipient')] : all
}

function messageFromMail(
  scene: MailContext,
  given: VerifiedMail,
  recipient: AgentRecipient,
  { arrival, connection }: { readonly arrival: RawRequest; readonly connection: Connection },
): InboundEvent {
  const mail = { ...given, head: countedHead(given.head, given.proof, recipient.tokenKey !== undefined) }
  const parts = mailParts(mail)
  const reason = whyIgnored(scene, mail, recipient) ?? (parts.length === 0 ? 'no_content' : undefined)
  if (reason !== undefined) return ignoredMail(scene, mail, recipient.given, reason)
  const { head, proof, hop } = mail
  const { agent, thread } = recipient
  const author = provenAuthor(proof)
  const id = shortenId(thread.id)
  // The beginning of the chain, as the mail tells it: which conversation it joins is decided by what may be joined.
  const threadId = shortenId(head.references[0] ?? head.inReplyTo[0] ?? thread.id)
  const parent = head.inReplyTo[0] ?? head.references.at(-1)
  const address = formatAddress({ local: agent, domain: connection.domain })
  const chain = hop === undefined ? {} : { agent_chain: { hop, max_hops: maxHops, is_final: hop === maxHops } }
  const message: InboundMessage['message'] = {
    id,
    thread_id: threadId,
    ...(parent === undefined ? {} : { in_reply_to: shortenId(parent) }),
    sender: mailSender(proof, {
      domain: connection.domain,
      recipient: address,
      receivedAt: arrival.receivedAt,
      addressDomains: scene.addressDomains,
    }),
    recipient: address,
    parts,
    recipient_capabilities: {
      mention_relay: { kind: 'recipient-field', fields: ['to', 'cc'] },
      ...chain,
      rendering: { streaming: 'none', files: true, buttons: false },
    },
    received_via: 'email',
    received_at: arrival.receivedAt,
    raw: keptRawMail(mail, recipient.given, scene.addresses.domains),
    channel: mailChannelContext(mail, recipient, { connection, addresses: scene.addresses, threadId }),
  }
  return {
    kind: 'message',
    message,
    agent,
    isAddressed: true,
    semanticId: id,
    version: '0',
    isSenderChosenId: true,
    deliveryId: shortenId(head.messageId ?? id),
    ...(proof.signatures.length === 0 ? {} : { once: replayClaims(agent, proof) }),
    ...(author === undefined ? {} : { subject: mailboxSubject(author) }),
    thread: { candidates: thread.candidates, vouched: false, fresh: threadName(thread.key), also: thread.also },
    replyTo: mailReplyTo(mail, recipient),
    ...originalToKeep(mail),
    // Not its Date: that is its sender's word, and clocks are wrong.
    ...(mail.mailboxAt === undefined ? {} : { platformAt: mail.mailboxAt }),
  }
}

/** How long a mail may lie in a mailbox before it is fetched: older ones are stale. */
export const horizonMs = 7 * 24 * 60 * 60 * 1000
const clocksDifferMs = 2 * 24 * 60 * 60 * 1000

/** For longer than a copy counts, wherever it lay meanwhile; the database's clock is not ours. */
export const replayClaimMs = ({ countsMs = horizonMs }: Pick<MailProof, 'countsMs'>): number =>
  Math.max(countsMs, 0) + horizonMs + clocksDifferMs

/** A signature brings one message to each agent. What asks for nothing claims none: else a copy that looks automatic kept the mail away. */
function replayClaims(agent: string, proof: MailProof): readonly OnceClaim[] {
  const forMs = replayClaimMs(proof)
  return proof.signatures.map((signature) => ({ key: `email:${JSON.stringify([agent, signature])}`, forMs }))
}

/** The raw mail, by the name its files are found under; kept once its author is known to be admitted. */
function originalToKeep({ original, originalId, raw }: VerifiedMail): Pick<InboundMessage, 'originals' | 'toKeep'> {
  if (original === undefined || originalId === undefined) return {}
  return {
    originals: [original],
    toKeep: { ref: original, id: originalId, mime: 'message/rfc822', bytes: raw },
  }
}

function whyIgnored({ addresses }: MailContext, mail: VerifiedMail, recipient: AgentRecipient): string | undefined {
  const { head, envelope, body, hop } = mail
  const from = head.from === undefined ? undefined : resolveRecipient(addresses, head.from.address)
  // An agent's own mail that comes back to it, however it is marked.
  if (from?.kind === 'agent' && from.agent === recipient.agent) return 'own_message'
  return whyNotAnswered({
    head,
    mailFrom: envelope.mailFrom,
    isReport: body.report !== undefined,
    isOurs: (address) => isOurAddress(addresses, address),
    domains: addresses.domains,
    hop,
  })
}

function eventFromReport(
  scene: MailContext,
  mail: VerifiedMail,
  recipient: Extract<VerifiedRecipient, { kind: 'bounce' }>,
): IgnoredEvent {
  const { reason, ...effects } = reportFacts(mail.body.report, recipient.sent, mail.receivedAt)
  // Under an id of its own: a sender cannot keep a report away by sending something else under its id.
  return { ...ignoredMail(scene, mail, recipient.given, reason), deliveryId: `report:${recipient.digest}`, ...effects }
}

function ignoredMail(scene: MailContext, mail: VerifiedMail, given: string, reason: string): IgnoredEvent {
  const author = provenAuthor(mail.proof)
  return {
    kind: 'ignored',
    reason,
    isNoise: false,
    deliveryId: shortenId(mail.head.messageId ?? mail.id),
    ...(author === undefined ? {} : { subject: mailboxSubject(author) }),
    raw: keptRawMail(mail, given, scene.addresses.domains),
  }
}

function shortenId(id: string): string {
  return id.slice(0, maxIdLength)
}
