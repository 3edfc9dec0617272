// Replay protection: whether a genuine mail may be a copy. A signature stays good wherever the mail is sent, so it must be new
// and the mail must be written to the agent that gets it. How new a signature is says its own `t=`, or else the Date it covers;
// when the mail came is for us to say.
import type { MailHead, MailRefusal, ReceivedMail } from '../wire/mail.ts'

const dayMs = 86_400_000
/** Servers try for five days (RFC 5321 4.5.4.1). A mail that was signed before is a copy. */
const signedForMs = 7 * dayMs
/**
 * Without `t=` the Date is all that says how long a signature could be shown: so far it may be from the arrival, either way. Outboxes
 * and wrong clocks are within it, and what was taken is remembered until its Date is beyond it.
 */
const datedForMs = 90 * dayMs

/** One that could prove a copy alone. */
export type Dated = {
  readonly signedAt: number | undefined
  /** In small letters. */
  readonly signedHeaders: readonly string[]
}

export type SignedMail = {
  readonly signedHeaders: readonly string[]
  /** The newest of the signatures that count. */
  readonly signedAt: number | undefined
  /** All that a copy could be proven by. */
  readonly all: readonly Dated[]
}

export type Freshness =
  /** `countsMs`: how long from its arrival a copy could pass for new. */
  | { readonly kind: 'fresh'; readonly countsMs: number }
  | { readonly kind: 'refused'; readonly refusal: MailRefusal }
  | { readonly kind: 'suspected'; readonly reason: string }

/** When it reached us, or the mailbox that it was fetched from. */
export const mailArrivalTime = ({ mailboxAt, receivedAt }: ReceivedMail): number => Date.parse(mailboxAt ?? receivedAt)

/** `unnamed`: agents that may get mails which do not name them (Bcc, aliases). */
export function checkFreshnessAndRecipients(
  mail: ReceivedMail,
  head: MailHead,
  signed: SignedMail,
  unnamed: ReadonlySet<string>,
): Freshness {
  const freshness = checkMailFreshness(mailArrivalTime(mail), head, signed)
  if (freshness.kind !== 'fresh' || areRecipientsInSignedFields(mail, head, signed.signedHeaders, unnamed))
    return freshness
  return { kind: 'suspected', reason: 'recipient_not_named' }
}

function checkMailFreshness(now: number, head: MailHead, { signedHeaders, signedAt, all }: SignedMail): Freshness {
  const written = head.date === undefined ? undefined : Date.parse(head.date)
  // A copy may have lost the other signatures: as long as one counts by its Date, the Date decides about all of them.
  const isDated = all.some((each) => each.signedAt === undefined && each.signedHeaders.includes('date'))
  const ends = all.flatMap((each) => (each.signedAt === undefined ? [] : [each.signedAt + signedForMs]))
  if (isDated && written !== undefined) {
    if (Math.abs(now - written) > datedForMs) return { kind: 'refused', refusal: tooFar }
    ends.push(written + datedForMs)
    if (signedAt === undefined && !signedHeaders.includes('date')) return notSigned
  } else {
    if (signedAt === undefined) return notSigned
    if (now - signedAt > signedForMs) return { kind: 'refused', refusal: tooOld }
  }
  return { kind: 'fresh', countsMs: Math.min(Math.max(...ends) - now, 2 * datedForMs) }
}

const notSigned: Freshness = { kind: 'suspected', reason: 'time_not_signed' }

const tooOld: MailRefusal = {
  kind: 'refused',
  reason: 'signature_too_old',
  remedy: 'the mail was signed more than seven days ago: send it again as a new mail',
}
const tooFar: MailRefusal = {
  kind: 'refused',
  reason: 'date_too_far',
  remedy:
    'the date of the mail is more than 90 days from now: set the clock of the device and send it again as a new mail',
}

function areRecipientsInSignedFields(
  { envelope }: ReceivedMail,
  head: MailHead,
  signedHeaders: readonly string[],
  unnamed: ReadonlySet<string>,
): boolean {
  // Names that are not signed are written by the sender of the copy.
  const people = [...(signedHeaders.includes('to') ? head.to : []), ...(signedHeaders.includes('cc') ? head.cc : [])]
  // A sender who writes to a tag names the mailbox, too: a fetched one may not say under which tag it got a mail.
  const named = new Set(
    people.map(({ address }) => address.toLowerCase()).flatMap((each) => [each, withoutAddressTag(each)]),
  )
  return envelope.rcptTo
    .map((recipient) => recipient.toLowerCase())
    .every((recipient) => named.has(recipient) || unnamed.has(recipient))
}

function withoutAddressTag(address: string): string {
  const [tag, at] = [address.indexOf('+'), address.lastIndexOf('@')]
  return tag > 0 && tag < at ? address.slice(0, tag) + address.slice(at) : address
}
