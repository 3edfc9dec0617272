// Normalizes one mail into one message for each envelope recipient, or into the reason why it is ignored. Pure.

import {
  type Connection,
  formatAddress,
  type IgnoredEvent,
  type InboundEvent,
  type InboundMessage,
  type KnownPart,
  type RawRequest,
  textPart,
} from '../../../src/contract/index.ts'
import type { JsonObject } from '../../../src/lib/index.ts'
import { findNoReplyReason, maxHops } from '../loop-prevention.ts'
import { threadName } from '../threading.ts'
import { type BodyFlag, keepAuthorsFields, type MailFile, type MailProof, type MailReport } from '../wire/mail.ts'
import type { SentMail, VerifiedMail, VerifiedRecipient } from '../wire/verified-mail.ts'
import { type Addresses, isOurAddress, mailChannelContext, resolveRecipient } from './addressing.ts'
import { getProvenAuthor, mailboxSubject, mailReplyTo, mailSender } from './sender.ts'

/** What is known of the connection beside its name. */
export type MailContext = { readonly addresses: Addresses; readonly addressDomains: readonly string[] }

type AgentRecipient = Extract<VerifiedRecipient, { kind: 'agent' }>

/** Of an id or a thread's name: what is longer stands in the raw mail only. */
const maxIdLength = 500

export function normalizeMail(
  context: MailContext,
  mail: VerifiedMail,
  rawRequest: RawRequest,
  connection: Connection,
): readonly InboundEvent[] {
  const agents = new Map<string, AgentRecipient>()
  const reports: IgnoredEvent[] = []
  for (const recipient of mail.recipients) {
    if (recipient.kind === 'bounce') reports.push(ignoredEventFromReport(context, mail, recipient))
    // The same agent under two addresses of one mail is asked once; the address that names its thread says the most.
    if (recipient.kind === 'agent' && (agents.get(recipient.agent)?.tokenKey ?? undefined) === undefined)
      agents.set(recipient.agent, recipient)
  }
  const messages = [...agents.values()].map((each) =>
    inboundEventFromMail(context, mail, each, { rawRequest, connection }),
  )
  const all = [...reports, ...messages]
  return all.length === 0 ? [ignoredMailEvent(context, mail, mail.envelope.rcptTo[0] ?? '', 'unknown_recipient')] : all
}

function inboundEventFromMail(
  context: MailContext,
  given: VerifiedMail,
  recipient: AgentRecipient,
  { rawRequest, connection }: { readonly rawRequest: RawRequest; readonly connection: Connection },
): InboundEvent {
  const mail = { ...given, head: keepAuthorsFields(given.head, given.proof, recipient.tokenKey !== undefined) }
  const parts = mailToMessageParts(mail)
  const reason = findIgnoreReason(context, mail, recipient) ?? (parts.length === 0 ? 'no_content' : undefined)
  if (reason !== undefined) return ignoredMailEvent(context, mail, recipient.given, reason)
  const { head, proof, hop } = mail
  const { agent, thread } = recipient
  const author = getProvenAuthor(proof)
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
      receivedAt: rawRequest.receivedAt,
      addressDomains: context.addressDomains,
    }),
    recipient: address,
    parts,
    recipient_capabilities: {
      mention_relay: { kind: 'recipient-field', fields: ['to', 'cc'] },
      ...chain,
      rendering: { streaming: 'none', files: true, buttons: false },
    },
    received_via: 'email',
    received_at: rawRequest.receivedAt,
    raw: rawMailToJson(mail, recipient.given, context.addresses.domains),
    channel: mailChannelContext(mail, recipient, { connection, addresses: context.addresses, threadId }),
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
    thread: {
      candidates: thread.candidates,
      platformVerified: false,
      newThreadKey: threadName(thread.key),
      aliases: thread.also,
    },
    replyTo: mailReplyTo(mail, recipient),
    ...rawMailBlobFields(mail),
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
function replayClaims(agent: string, proof: MailProof): NonNullable<InboundMessage['once']> {
  const forMs = replayClaimMs(proof)
  return proof.signatures.map((signature) => ({ key: `email:${JSON.stringify([agent, signature])}`, forMs }))
}

/** The raw mail, by the name its files are found under; kept once its author is known to be admitted. */
function rawMailBlobFields({
  original,
  originalId,
  raw,
}: VerifiedMail): Pick<InboundMessage, 'rawBlobs' | 'pendingBlob'> {
  if (original === undefined || originalId === undefined) return {}
  return {
    rawBlobs: [original],
    pendingBlob: { ref: original, id: originalId, mime: 'message/rfc822', bytes: raw },
  }
}

function findIgnoreReason(
  { addresses }: MailContext,
  mail: VerifiedMail,
  recipient: AgentRecipient,
): string | undefined {
  const { head, envelope, body, hop } = mail
  const from = head.from === undefined ? undefined : resolveRecipient(addresses, head.from.address)
  // An agent's own mail that comes back to it, however it is marked.
  if (from?.kind === 'agent' && from.agent === recipient.agent) return 'own_message'
  return findNoReplyReason({
    head,
    mailFrom: envelope.mailFrom,
    isReport: body.report !== undefined,
    isOurs: (address) => isOurAddress(addresses, address),
    domains: addresses.domains,
    hop,
  })
}

function ignoredEventFromReport(
  context: MailContext,
  mail: VerifiedMail,
  recipient: Extract<VerifiedRecipient, { kind: 'bounce' }>,
): IgnoredEvent {
  const { reason, ...effects } = mailReportToEventFields(mail.body.report, recipient.sent, mail.receivedAt)
  // Under an id of its own: a sender cannot keep a report away by sending something else under its id.
  return {
    ...ignoredMailEvent(context, mail, recipient.given, reason),
    deliveryId: `report:${recipient.digest}`,
    ...effects,
  }
}

function ignoredMailEvent(context: MailContext, mail: VerifiedMail, given: string, reason: string): IgnoredEvent {
  const author = getProvenAuthor(mail.proof)
  return {
    kind: 'ignored',
    reason,
    isNoise: false,
    deliveryId: shortenId(mail.head.messageId ?? mail.id),
    ...(author === undefined ? {} : { subject: mailboxSubject(author) }),
    raw: rawMailToJson(mail, given, context.addresses.domains),
  }
}

function shortenId(id: string): string {
  return id.slice(0, maxIdLength)
}

// A report about one of our mails marks its delivery, and closes an address that can never be reached. Only a report that came
// back to the token of its delivery counts, and only for the address that delivery went to. Pure.

export type ReportFacts = Pick<IgnoredEvent, 'reason' | 'bounce' | 'roomStatus'>

/** RFC 3463: no such mailbox, a domain that takes no mail, a mailbox that was switched off. */
const goneForGood: ReadonlySet<string> = new Set(['5.1.1', '5.1.2', '5.1.3', '5.1.6', '5.1.10', '5.2.1'])

/** `sent` is undefined where no token of ours says which mail it is about: then it says nothing. */
export function mailReportToEventFields(
  report: MailReport | undefined,
  sent: SentMail | undefined,
  at: string,
): ReportFacts {
  if (sent === undefined) return { reason: report === undefined ? 'bounce_unmatched' : `${report.kind}_unmatched` }
  if (report === undefined)
    // Old servers bounce in plain words: that it came back to this address is all there is to know.
    return { reason: 'bounced', bounce: { clientId: sent.clientId, kind: 'failed', reason: 'bounced', at } }
  switch (report.kind) {
    case 'receipt':
      return { reason: 'receipt' }
    case 'complaint':
      return { reason: 'complaint', roomStatus: { room: lowercaseAddressDomain(sent.to), closed: 'complaint', at } }
    case 'delivery':
      return bounceFieldsFromReport(report, sent, at)
    default:
      return report.kind satisfies never
  }
}

function bounceFieldsFromReport({ recipients }: MailReport, sent: SentMail, at: string): ReportFacts {
  const own =
    recipients.find(({ address }) => lowercaseAddressDomain(address) === lowercaseAddressDomain(sent.to)) ??
    recipients[0]
  const status = own?.status
  const isDelayed = own?.action === 'delayed' || (own?.action === undefined && status?.startsWith('4.') === true)
  if (isDelayed)
    return { reason: 'delayed', bounce: { clientId: sent.clientId, kind: 'delayed', reason: bounceCode(status), at } }
  if (own?.action !== undefined && own.action !== 'failed') return { reason: `report_${own.action}` }
  const bounce = { clientId: sent.clientId, kind: 'failed', reason: bounceCode(status), at } as const
  if (status === undefined || !goneForGood.has(status)) return { reason: 'bounced', bounce }
  return {
    reason: 'bounced',
    bounce,
    roomStatus: { room: lowercaseAddressDomain(sent.to), closed: bounceCode(status), at },
  }
}

/** The name under which an address is closed; the domain has no case. */
function lowercaseAddressDomain(address: string): string {
  const at = address.lastIndexOf('@')
  return address.slice(0, at + 1) + address.slice(at + 1).toLowerCase()
}

/** Codes only: what else a report says is its sender's text. */
function bounceCode(status: string | undefined): string {
  return status !== undefined && /^[245]\.\d{1,3}\.\d{1,3}$/.test(status) ? `status_${status}` : 'bounced'
}

// Parts: the subject where it opens a thread, the words, the files by their place in the raw mail. Pure.

/** Told to the agent in words, since it would answer as if it had seen everything. */
const notes: Partial<Record<BodyFlag, string>> = {
  text_cut: '[the rest of this mail was too long]',
  files_left_out: '[more files came with this mail than are kept]',
  signed_or_encrypted: '[this mail carries a signature or an encrypted part that was not opened]',
  alternative_mismatch: '[this mail says something else in its formatted version, which was not read]',
}

const isReply = /^\s*(?:re|aw|sv|vs|antw|odp|ynt|rif|r|ref|回复|答复|回覆)\s*(?:\[\d+\])?\s*[:：]/iu

/** Empty: it says nothing at all. */
function mailToMessageParts({ head, body, original }: VerifiedMail): KnownPart[] {
  const said = [
    ...(body.text === '' ? [] : [textPart(body.text, body.mime)]),
    ...body.files.map((file) => mailFilePart(file, original, body.uncounted)),
  ]
  const isOpening = head.inReplyTo.length === 0 && head.references.length === 0 && !isReply.test(head.subject)
  const isCommand = body.text.startsWith('/')
  const subject = head.subject !== '' && (isOpening || said.length === 0) && !isCommand
  if (said.length === 0 && !subject) return []
  return [
    ...(subject ? [textPart(`[subject: ${head.subject}]`)] : []),
    ...said,
    ...body.flags.flatMap((flag) => notes[flag] ?? []).map((note) => textPart(note)),
  ]
}

function mailFilePart(
  { index, name, mime, size }: MailFile,
  original: string | undefined,
  uncounted: readonly string[] | undefined,
): KnownPart {
  if (original === undefined) return textPart(`[a file, ${name}, that could not be kept]`)
  const ref = { original, index, mime, name, ...(uncounted === undefined ? {} : { uncounted: [...uncounted] }) }
  return { kind: 'file', bytes_ref: { kind: 'channel', ref }, mime, name, size }
}

// Beside the message are kept its text within bounds and the part of its envelope that concerns this recipient. The other
// envelope recipients are not kept: they may have been blind copies. Pure.

/** A larger mail keeps its head; all of it lies with the originals. */
export const maxRawBytes = 128 * 1024

/** A larger one without a proven author keeps the beginning of its head: who it says it is from, and about what. */
const maxUnprovenBytes = 1024

function rawMailToJson(
  { raw, head, proof, envelope, original }: VerifiedMail,
  given: string,
  domains: readonly string[],
): JsonObject {
  const most = proof.standing === 'verified' ? maxRawBytes : maxUnprovenBytes
  const isWhole = raw.length <= most
  const kept = isWhole ? raw : raw.subarray(0, Math.min(head.bodyStart, most))
  return {
    envelope: { from: envelope.mailFrom ?? null, to: given },
    mail: removeForgedAuthResults(new TextDecoder().decode(kept), domains),
    ...(isWhole ? {} : { original: original ?? null, size: raw.length }),
  }
}

const results = /^authentication-results\s*:\s*([^\s;]*)/i

/** A result that claims to be ours was written by a server on the way or by the sender: nothing of ours comes in from outside. */
function removeForgedAuthResults(text: string, domains: readonly string[]): string {
  const end = text.search(/\r?\n\r?\n/)
  const head = end < 0 ? text : text.slice(0, end)
  if (!/^authentication-results/im.test(head)) return text
  const fields = head.split(/\r?\n(?![ \t])/)
  const kept = fields.filter((field) => !domains.includes((results.exec(unfoldField(field))?.[1] ?? '').toLowerCase()))
  return kept.length === fields.length ? text : kept.join('\r\n') + text.slice(head.length)
}

function unfoldField(field: string): string {
  return field.replace(/\r?\n[ \t]+/g, ' ')
}
