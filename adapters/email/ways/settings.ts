// Settings of each ingress, and what it asks of the rest of the channel.
import type { Secret } from '../../../src/contract/index.ts'
import type { S3Settings } from './hooks/s3.ts'
import type { ImapSettings } from './imap/settings.ts'
import type { SmtpSettings } from './smtp/settings.ts'

/** An ingress that is left out is closed: whatever claims to have come by it is rejected. */
export type IngressSettings = {
  /** Of one raw mail, whichever way it comes. */
  readonly maxBytes: number
  readonly smtp?: SmtpSettings | undefined
  readonly imap?: ImapSettings | undefined
  /** Any of them signs a mail that a forwarder of the operator's posts here. */
  readonly webhook?: { readonly secrets: readonly Secret[] } | undefined
  readonly ses?: { readonly topicArns: readonly string[]; readonly s3?: S3Settings | undefined } | undefined
  readonly mailgun?: { readonly signingKeys: readonly Secret[] } | undefined
}
