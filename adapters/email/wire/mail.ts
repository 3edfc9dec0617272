// Types of a mail: as it was received by any ingress, and after verification.
import type { RawRequest } from '../../../src/contract/index.ts'

/** How a mail came in. Only a hop that we are, or that has proven itself, may say anything about the envelope. */
export type Ingress = 'smtp' | 'imap' | 'webhook' | 'ses' | 'mailgun' | 'cloudflare'

export type Envelope = {
  /** Empty: the null sender of bounces. Undefined: not known. */
  readonly mailFrom: string | undefined
  /** The envelope recipients: the only place that says which agents it is for. */
  readonly rcptTo: readonly string[]
  /** Of the server that handed it over; without it SPF is unknown. */
  readonly clientIp?: string
  readonly helo?: string
}

export type ReceivedMail = {
  readonly way: Ingress
  /** Unchanged, as signatures cover them. */
  readonly raw: Uint8Array
  readonly envelope: Envelope
  readonly receivedAt: string
  /** When it came to the mailbox that it was fetched from, by that server's clock. */
  readonly mailboxAt?: string
  /**
   * It waits in a mailbox and keeps out all that came after it: what cannot be looked up this time either counts as not proven, for
   * a sender can own a domain whose servers never answer.
   */
  readonly isLastTry?: boolean
}

/** Headers that carry a mail's envelope in a request: the same names that the webhook takes. */
export const envelopeHeaders = {
  from: 'x-envelope-from',
  /** One JSON list. */
  to: 'x-envelope-to',
  clientIp: 'x-envelope-ip',
  helo: 'x-envelope-helo',
  way: 'x-mail-way',
} as const

export function mailAsRequest({ way, raw, envelope, receivedAt }: ReceivedMail): RawRequest {
  const { mailFrom, rcptTo, clientIp, helo } = envelope
  const headers = {
    [envelopeHeaders.way]: way,
    [envelopeHeaders.to]: JSON.stringify(rcptTo),
    ...(mailFrom === undefined ? {} : { [envelopeHeaders.from]: mailFrom }),
    ...(clientIp === undefined ? {} : { [envelopeHeaders.clientIp]: clientIp }),
    ...(helo === undefined ? {} : { [envelopeHeaders.helo]: helo }),
  }
  return { bytes: raw, headers, receivedAt, from: 'remote' }
}

// After verification: what its head says, whom it is proven to be from, and what its body holds.

/** An address that was read strictly: no route, no comment, no group, the domain as an A-label in small letters. */
export type Mailbox = {
  /** `local@domain`; the local part as it was written. */
  readonly address: string
  readonly domain: string
  /** Cleaned for showing; never for deciding. */
  readonly name: string
}

/** One header field of the raw bytes. */
export type HeaderField = {
  /** In small letters. */
  readonly name: string
  /** Unfolded and trimmed, not decoded. */
  readonly value: string
}

/** Why no author can be believed, whatever is signed. */
export type HeadFault =
  | 'no_from'
  | 'multiple_from_fields'
  | 'multiple_authors'
  | 'unreadable_from'
  | 'duplicate_header'
  | 'control_bytes'
  | 'malformed_line'
  | 'head_too_large'

/** The head, read once by one strict scanner; no parser's opinion counts beside it. */
export type MailHead = {
  readonly fields: readonly HeaderField[]
  /** Where the body begins in the raw bytes. */
  readonly bodyStart: number
  readonly faults: readonly HeadFault[]
  /** The one author, where there is exactly one. */
  readonly from: Mailbox | undefined
  readonly to: readonly Mailbox[]
  readonly cc: readonly Mailbox[]
  readonly replyTo: readonly Mailbox[]
  /** Decoded, cleaned, at most 400 characters. */
  readonly subject: string
  /** As `local@domain` without brackets; undefined where it is missing or malformed. */
  readonly messageId: string | undefined
  /** Well-formed ids only, bounded. */
  readonly inReplyTo: readonly string[]
  readonly references: readonly string[]
  /** First 22 bytes of Thread-Index, as base64url. */
  readonly threadIndex: string | undefined
  /** ISO 8601 in UTC. */
  readonly date: string | undefined
}

/**
 * verified: an aligned signature over the whole body; weak: something passed that does not prove the author (SPF alone, l=);
 * none: nothing to believe; spoofed: the domain itself says that such a mail is not from it.
 */
export type Standing = 'verified' | 'weak' | 'none' | 'spoofed'

/** What authentication of the raw bytes came to. */
export type MailProof = {
  readonly standing: Standing
  /** `email-loopback`: it was handed in on this machine, where that is enough. */
  readonly method: 'email-dmarc' | 'email-dkim' | 'email-loopback' | 'none'
  /** The authenticated author, only where it is verified: byte for byte the scanner's. */
  readonly author: Mailbox | undefined
  /** `selector._domainkey.domain` of the signature that counted. */
  readonly keyId: string | undefined
  /** Header names in small letters that the counting signatures cover. */
  readonly signedHeaders: readonly string[]
  /** Machine-readable, for `explain`: `dkim=pass d=…`, `dmarc=fail p=reject`, `replay_suspected`. */
  readonly reasons: readonly string[]
  /**
   * Of a verified mail: every signature that could speak for its author, as the name of its key and a hash of its own bytes, sorted. A copy
   * has one of them, whatever else was taken off it or written over it.
   */
  readonly signatures: readonly string[]
  /** How long from its arrival one of these signatures could make a copy pass for new. */
  readonly countsMs?: number
}

/** A file inside a mail. Its bytes stay in the raw mail and are taken out again by its place there. */
export type MailFile = {
  /** Its place among all leaf parts, counted from 0. */
  readonly index: number
  /** Safe to show and to store under. */
  readonly name: string
  /** As it was declared, where that differs. */
  readonly declaredName?: string
  readonly mime: string
  /** Decoded. */
  readonly size: number
  readonly disposition: 'attachment' | 'inline'
  readonly contentId?: string
}

export type BodyFlag =
  | 'alternative_mismatch'
  | 'hidden_text_removed'
  | 'text_cut'
  | 'files_left_out'
  | 'signed_or_encrypted'

/** What a mail says: words for the agent, files by their place. */
export type MailBody = {
  /** What its author wrote now: quotes and signature trimmed. Empty where there is nothing but files. */
  readonly text: string
  readonly mime: 'text/plain' | 'text/markdown'
  /** The untrimmed text, where it says more. */
  readonly whole?: string
  readonly files: readonly MailFile[]
  readonly flags: readonly BodyFlag[]
  /** Fields of the mail's head that it was read without: its files are opened without them, too. */
  readonly uncounted?: readonly string[]
  /** Set for a report about one of our own mails. */
  readonly report?: MailReport
}

/** A delivery status (RFC 3464), a complaint (RFC 5965) or a receipt (RFC 8098), as far as it could be read. */
export type MailReport = {
  readonly kind: 'delivery' | 'complaint' | 'receipt'
  readonly recipients: readonly {
    readonly address: string
    readonly action: 'failed' | 'delayed' | 'delivered' | 'relayed' | 'expanded' | undefined
    /** `5.1.1`. */
    readonly status: string | undefined
    readonly diagnostic: string | undefined
  }[]
  /** Message-ID of the mail it is about, where the report encloses it. */
  readonly about: string | undefined
}

/** Why a mail is not taken at all. `later`: the same mail may be taken a moment later. */
export type MailRefusal = { readonly kind: 'refused' | 'later'; readonly reason: string; readonly remedy: string }

/** Everything normalize reads. */
export type ParsedMail = ReceivedMail & {
  readonly head: MailHead
  readonly proof: MailProof
  readonly body: MailBody
  /** Where the raw bytes are kept once their author is admitted, where they are too large for a row. */
  readonly original?: string
  /** What they are kept by: their SHA-256, in hex. */
  readonly originalId?: string
}

// Which fields of a mail count. Where an author is proven by a signature, a field that is not signed is a claim of the server that handed the
// mail over: it may keep a mail from being answered, and chooses neither its words nor its thread nor its name. Pure.

/** True where only the author could have written it, and where no author is proven at all: then all fields count alike. */
export function isFieldProven(
  { signatures, signedHeaders }: Pick<MailProof, 'signatures' | 'signedHeaders'>,
  name: string,
): boolean {
  return signatures.length === 0 || signedHeaders.includes(name)
}

/**
 * The head with nothing in it that is not the author's. `hasToken`: it was sent to an address with a reply token of ours, which is signed
 * with the recipients: then what it refers to may be read, too. Recipients stay: others in a mail make it less direct, never more.
 */
export function keepAuthorsFields(head: MailHead, proof: MailProof, hasToken: boolean): MailHead {
  const isProvenField = (name: string): boolean => isFieldProven(proof, name)
  return {
    ...head,
    subject: isProvenField('subject') ? head.subject : '',
    replyTo: isProvenField('reply-to') ? head.replyTo : [],
    inReplyTo: isProvenField('in-reply-to') || hasToken ? head.inReplyTo : [],
    references: isProvenField('references') || hasToken ? head.references : [],
    threadIndex: isProvenField('thread-index') || hasToken ? head.threadIndex : undefined,
    date: isProvenField('date') ? head.date : undefined,
  }
}

/** Fields that say how the body is read, of those that do not count. */
export function listUnprovenContentFields(proof: MailProof): readonly string[] {
  return contentFields.filter((name) => !isFieldProven(proof, name))
}

const contentFields = ['content-type', 'content-transfer-encoding', 'content-disposition', 'content-id']
