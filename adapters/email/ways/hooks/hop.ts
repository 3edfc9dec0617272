// The result of verifying an ingress: a mail whose envelope may be believed, or why there is none.
import type { RejectReason, TransportAnswer } from '../../../../src/contract/index.ts'
import type { ReceivedMail } from '../../wire/mail.ts'

export type IngressResult =
  | { readonly kind: 'mail'; readonly mail: ReceivedMail }
  | { readonly kind: 'handshake'; readonly answer: TransportAnswer }
  | { readonly kind: 'rejected'; readonly reason: RejectReason }
  | { readonly kind: 'later'; readonly reason: string }
  | { readonly kind: 'turned_away'; readonly reason: string; readonly remedy: string }

export function rejectedRequest(reason: RejectReason): IngressResult {
  return { kind: 'rejected', reason }
}

export const mailTooLarge = { kind: 'turned_away', reason: 'mail_too_large', remedy: 'send a smaller mail' } as const
