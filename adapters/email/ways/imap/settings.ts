// Which mailbox is read, and what is done with what was taken.
import type { Secret } from '../../../../src/contract/index.ts'

export type ImapSettings = {
  readonly host: string
  readonly port: number
  /** TLS from the first byte. Without it STARTTLS is demanded, unless `allowPlain` says otherwise. */
  readonly secure: boolean
  /** For servers on this machine: the password goes over the wire as it is. */
  readonly allowPlain?: boolean
  readonly user: string
  readonly password: Secret
  /** Without it: INBOX. */
  readonly mailbox?: string
  /** Whose mailbox it is: for mails that do not say which of our addresses they were delivered to. */
  readonly address: string
  /** How a taken mail is marked: a flag, a keyword, or another folder. Without it the keyword `$Parley`. */
  readonly mark?: { readonly flag: string } | { readonly moveTo: string }
  /** What is there when we connect for the first time is left alone, unless it is `all`. */
  readonly startAt?: 'now' | 'all'
  /** The server's certificate authority as PEM, where it is not a public one. */
  readonly ca?: string
  /** First pause before another try to connect; doubled up to a minute. */
  readonly firstPauseMs?: number
  /** First wait before the server is asked although it told of nothing new; doubled up to `pollMs`. */
  readonly firstWaitMs?: number
  /** The longest wait: where the server does not tell, it is asked so often. Without it a minute. */
  readonly pollMs?: number
}
