// Verifies the server that brought a mail, authenticates its author, reads its body and looks up its thread. Nothing is read
// before that server is genuine, and what is refused is refused before anything is kept.
import type { RawRequest, VerifyResult } from '../../src/contract/index.ts'
import { hopHeader } from './loop-prevention.ts'
import { type Addresses, resolveRecipient } from './normalize/addressing.ts'
import { busyReason } from './offload/load-shedding.ts'
import { type ReplyTokens, resolveThread } from './threading.ts'
import { sha256HexBytes } from './webhooks/signed-webhook.ts'
import {
  isFieldProven,
  keepAuthorsFields,
  listUnprovenContentFields,
  type MailBody,
  type MailHead,
  type MailProof,
  type MailRefusal,
  type ReceivedMail,
} from './wire/mail.ts'
import type { SentMail, VerifiedMail, VerifiedRecipient } from './wire/verified-mail.ts'
/** What an ingress makes of a request. */
export type RequestResult =
  | Exclude<VerifyResult<never>, { kind: 'genuine' }>
  | { readonly kind: 'mail'; readonly mail: ReceivedMail }

export type VerifyDeps = {
  readonly hopOf: (rawRequest: RawRequest) => Promise<RequestResult>
  readonly scanHead: (raw: Uint8Array) => MailHead
  readonly proveMail: (mail: ReceivedMail, head: MailHead) => Promise<MailProof | MailRefusal>
  /** `uncounted`: fields of the head that say nothing about how the body is read. */
  readonly readBody: (raw: Uint8Array, head: MailHead, uncounted: readonly string[]) => Promise<MailBody | MailRefusal>
  /** What the raw mail would be kept as beside its row. Undefined: there is no place for it. */
  readonly nameOriginal: (digest: string) => Promise<string | undefined>
  readonly addresses: () => Addresses
  readonly tokens: ReplyTokens
  readonly sentUnder: (key: string) => Promise<SentMail | undefined>
  /** The count in a hop header of a mail from this domain, where one of its gateways may write any. */
  readonly readHop: (domain: string, value: string, messageId: string) => Promise<number | undefined>
  /** Whose every mail is in a mailbox that is fetched. */
  readonly mailboxAgent: string
  readonly trustLoopback: boolean
  /** Above this many bytes a mail is kept beside its row. */
  readonly maxRowBytes: number
}

const maxRecipients = 100

export async function verifyMail(deps: VerifyDeps, rawRequest: RawRequest): Promise<VerifyResult<VerifiedMail>> {
  const hop = await deps.hopOf(rawRequest)
  if (hop.kind !== 'mail') return hop
  const { mail } = hop
  const head = deps.scanHead(mail.raw)
  const deliveryId = head.messageId === undefined ? {} : { deliveryId: head.messageId.slice(0, 500) }
  const refusalToVerifyResult = (given: MailRefusal): VerifyResult<VerifiedMail> =>
    given.kind === 'later'
      ? { kind: 'later', reason: given.reason }
      : { kind: 'rejected_event', reason: given.reason, remedy: given.remedy, ...deliveryId }
  if (mail.envelope.rcptTo.length > maxRecipients) return refusalToVerifyResult(tooMany)
  const proof = await authenticateSender(deps, rawRequest, mail, head)
  if ('kind' in proof) return refusalToVerifyResult(proof)
  if (proof.standing === 'spoofed') return refusalToVerifyResult(spoofed)
  const body = await deps.readBody(mail.raw, head, listUnprovenContentFields(proof))
  if ('kind' in body) return refusalToVerifyResult(isLastTryFailed(mail, body) ? unreadable : body)
  return { kind: 'genuine', payload: await completeVerifiedMail(deps, { ...mail, head, proof, body }) }
}

const tooMany: MailRefusal = {
  kind: 'refused',
  reason: 'too_many_recipients',
  remedy: `name at most ${maxRecipients} recipients in one mail`,
}
const spoofed: MailRefusal = {
  kind: 'refused',
  reason: 'spoofed_sender',
  remedy: 'send it through a server that signs for the domain in From',
}
const unreadable: MailRefusal = {
  kind: 'refused',
  reason: 'unreadable_body',
  remedy: 'send it as plain text',
}
const nothingProven: MailProof = {
  standing: 'none',
  method: 'none',
  author: undefined,
  keyId: undefined,
  signedHeaders: [],
  reasons: [],
  signatures: [],
}

async function authenticateSender(
  deps: VerifyDeps,
  rawRequest: RawRequest,
  mail: ReceivedMail,
  head: MailHead,
): Promise<MailProof | MailRefusal> {
  const addresses = deps.addresses()
  // A report counts by the token it comes back to. Servers that bounce rarely sign, and no sender is believed by it.
  const isReport = mail.envelope.rcptTo.every((each) => resolveRecipient(addresses, each).kind === 'bounce')
  if (isReport) return nothingProven
  if (
    deps.trustLoopback &&
    mail.way === 'smtp' &&
    rawRequest.from !== 'remote' &&
    head.from !== undefined &&
    head.faults.length === 0
  )
    return {
      ...nothingProven,
      standing: 'verified',
      method: 'email-loopback',
      author: head.from,
      reasons: ['submitted_on_this_machine'],
    }
  const proof = await deps.proveMail(mail, head)
  return 'kind' in proof && isLastTryFailed(mail, proof) ? { ...nothingProven, reasons: [proof.reason] } : proof
}

/** It was waited for once; that there was no thread for it is not the mail's doing, and is waited for as long as it takes. */
const isLastTryFailed = (mail: ReceivedMail, { kind, reason }: MailRefusal): boolean =>
  kind === 'later' && mail.isLastTry === true && reason !== busyReason

type Judged = ReceivedMail & { readonly head: MailHead; readonly proof: MailProof; readonly body: MailBody }

async function completeVerifiedMail(deps: VerifyDeps, mail: Judged): Promise<VerifiedMail> {
  const { raw, body } = mail
  const digest = createLazyDigest(raw)
  const id = signedMailId(mail) ?? `${await digest()}@invalid`
  const recipients = await Promise.all(
    mail.envelope.rcptTo.map((each) => resolveEnvelopeRecipient(deps, { mail, id, digest }, each)),
  )
  // Of a mail without a proven author nothing is kept beside its row, and nothing is hashed for it. Whether its author
  // is admitted is decided by the access rules, which see to it that it is kept only then.
  const isKept =
    mail.proof.standing === 'verified' &&
    recipients.some(({ kind }) => kind === 'agent') &&
    (body.files.length > 0 || raw.length > deps.maxRowBytes)
  const original = isKept ? await deps.nameOriginal(await digest()) : undefined
  const hop = await readAgentHop(deps, mail)
  const kept = original === undefined ? {} : { original, originalId: await digest() }
  return { ...mail, id, recipients, hop, ...kept }
}

/** Its Message-ID where that is the author's; else it is known by its signature: that is the same in every copy. */
function signedMailId({ head, proof }: Judged): string | undefined {
  if (isFieldProven(proof, 'message-id')) return head.messageId
  return `${proof.signatures[0]?.split(' ').at(-1)}@signature.invalid`
}

/** Only when something is named after the bytes: for most mails their hash would cost more than reading them. */
function createLazyDigest(raw: Uint8Array): () => Promise<string> {
  let made: Promise<string> | undefined
  return () => (made ??= sha256HexBytes(raw))
}

type Named = { readonly mail: Judged; readonly id: string; readonly digest: () => Promise<string> }

async function resolveEnvelopeRecipient(
  deps: VerifyDeps,
  { mail, id, digest }: Named,
  given: string,
): Promise<VerifiedRecipient> {
  const addresses = deps.addresses()
  const meant = resolveRecipient(addresses, given)
  const { tokens } = deps
  if (meant.kind === 'bounce') {
    const key = await tokens.read(meant.token)
    const sent = key === undefined ? undefined : await deps.sentUnder(key)
    return { given, kind: 'bounce', digest: await digest(), ...(sent === undefined ? {} : { sent }) }
  }
  // A mailbox that is fetched belongs to one agent, whatever its addresses are called.
  if (meant.kind === 'unknown' && mail.way !== 'imap') return { given, kind: 'unknown' }
  const { agent, address } = meant.kind === 'agent' ? meant : { agent: deps.mailboxAgent, address: given }
  const tokenKey = meant.kind === 'agent' && meant.token !== undefined ? await tokens.read(meant.token) : undefined
  const head = keepAuthorsFields(mail.head, mail.proof, tokenKey !== undefined)
  const thread = await resolveThread(head, { id, tokenKey, tokens })
  return { given, kind: 'agent', agent, address, thread, ...(tokenKey === undefined ? {} : { tokenKey }) }
}

/** Counts only in a mail whose own domain signed it, and only from a domain whose agents may write to ours. */
async function readAgentHop(deps: VerifyDeps, { head, proof }: Judged): Promise<number | undefined> {
  const fields = head.fields.filter(({ name }) => name === hopHeader.toLowerCase())
  const domain = proof.standing === 'verified' ? proof.author?.domain : undefined
  if (domain === undefined || fields.length !== 1 || head.messageId === undefined) return undefined
  return deps.readHop(domain, fields[0]?.value ?? '', head.messageId)
}
