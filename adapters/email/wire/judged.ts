// What is known of a mail after hop 2: what its head says, whom it is proven to be from, and what its body holds.
import type { ReceivedMail } from './mail.ts'

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

/** Everything hop 3 reads. */
export type ParsedMail = ReceivedMail & {
  readonly head: MailHead
  readonly proof: MailProof
  readonly body: MailBody
  /** Where the raw bytes are kept once their author is admitted, where they are too large for a row. */
  readonly original?: string
  /** What they are kept by: their SHA-256, in hex. */
  readonly originalId?: string
}
