// Settings of the SMTP listener, and what it allows each client.

import type { ChannelDeps } from '../../../src/contract/index.ts'
import type { Secret } from '../../../src/lib/index.ts'
import type { ClassifyRecipient, OwnMailRegistry } from '../ingress/received.ts'

export type SmtpSettings = {
  readonly host: string
  /** 0: any that is free. */
  readonly port: number
  /** The name it greets with. */
  readonly name: string
  /** Both as PEM. Without them there is no STARTTLS. */
  readonly tls?: { readonly key: Secret; readonly cert: string } | undefined
  readonly limits?: Partial<SmtpLimits> | undefined
}

export type SmtpLimits = {
  readonly recipients: number
  readonly clients: number
  /** Per address; per network of an IPv6 address. */
  readonly clientsPerAddress: number
  readonly mailsPerMinute: number
  /** Unknown recipients; then a client that guesses is disconnected. */
  readonly refusedRecipients: number
  /** Of all mails that are being received together. */
  readonly heldBytes: number
  /** The same of one address; per network of an IPv6 address. */
  readonly heldBytesPerAddress: number
  /** What one address may send within an hour that nothing proves; then only mails of `smallBytes` are taken from it. */
  readonly unprovenBytesPerHour: number
  readonly smallBytes: number
  /** Silence of a client whose turn it is. */
  readonly idleMs: number
  /** From DATA to its end, however steadily it drips. */
  readonly dataMs: number
  /** Until we have stored it; then it is asked for again. */
  readonly answerMs: number
  readonly sessionMs: number
  /** For those who are in the middle of a mail when we stop. */
  readonly graceMs: number
}

export const smtpLimits: SmtpLimits = {
  recipients: 50,
  clients: 200,
  clientsPerAddress: 20,
  mailsPerMinute: 120,
  refusedRecipients: 20,
  heldBytes: 256 * 1024 * 1024,
  heldBytesPerAddress: 64 * 1024 * 1024,
  unprovenBytesPerHour: 256 * 1024 * 1024,
  smallBytes: 256 * 1024,
  idleMs: 60_000,
  dataMs: 300_000,
  answerMs: 60_000,
  sessionMs: 900_000,
  graceMs: 10_000,
}

export type SmtpDeps = Pick<ChannelDeps, 'now'> & {
  readonly own: OwnMailRegistry
  readonly recipientOf: ClassifyRecipient
  readonly maxBytes: number
}
