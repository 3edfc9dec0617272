// A mail as it reached us, whichever way it came: the raw bytes, and what the hop that brought it knows. One pipeline from here on.
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
