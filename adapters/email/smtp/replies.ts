// SMTP replies: code, enhanced code (RFC 3463) and a few words for the person who reads the bounce.
import type { ReceiveResult } from '../../../src/contract/index.ts'
import type { RecipientKind } from '../ingress/received.ts'

export type Reply = { readonly code: number; readonly text: string }

export const replies = {
  tooMany: { code: 421, text: '4.7.0 too many connections; try again later' },
  tooFast: { code: 450, text: '4.7.1 too many mails at once; try again later' },
  tooManyRecipients: { code: 452, text: '4.5.3 too many recipients; send the rest in another mail' },
  guessing: { code: 421, text: '4.7.0 too many unknown recipients' },
  tooLong: { code: 421, text: '4.4.2 this took too long; try again' },
  stopping: { code: 421, text: '4.3.2 closing down; try again in a moment' },
  notAscii: { code: 553, text: '5.6.7 addresses beyond ASCII are not taken here' },
  tooLarge: { code: 552, text: '5.3.4 the mail is larger than we take' },
  tooFine: { code: 554, text: '5.6.0 too many lines of the mail begin with a dot' },
  noRoom: { code: 451, text: '4.3.1 too much mail at once; try again later' },
  /** RFC 5321 4.2.3: insufficient system storage. For whom: RFC 3463 keeps 4.3.1 for the system, 4.2.2 for one mailbox. */
  spent: {
    code: 452,
    text: '4.2.2 enough mail today from senders who are not known here; try again tomorrow, or ask to be let in',
  },
  full: { code: 452, text: '4.3.1 no room for mail now; try again later' },
  tooMuch: {
    code: 452,
    text: '4.7.1 too much mail from your address that nothing proves; small mails are still taken',
  },
  later: { code: 451, text: '4.3.0 not stored yet; try again later' },
  unreadable: { code: 550, text: '5.6.0 the mail cannot be read' },
  spoofed: { code: 550, text: '5.7.26 the domain of the author says that this mail is not from it' },
  tooOld: { code: 550, text: '5.7.1 the mail was signed more than seven days ago; send it again as a new mail' },
  tooFar: { code: 550, text: '5.7.1 the date of the mail is more than 90 days off; set the clock and send it again' },
  refused: { code: 550, text: '5.7.1 the mail is not taken' },
  /** Not expected: what this listener hands in is its own. */
  rejected: { code: 550, text: '5.7.1 the mail is not taken here' },
} as const satisfies Readonly<Record<string, Reply>>

/** Undefined: it may be sent to. */
export function recipientReply(recipient: RecipientKind): Reply | undefined {
  switch (recipient) {
    case 'agent':
    case 'bounce':
      return undefined
    case 'unknown':
      return { code: 550, text: '5.1.1 there is no such address here' }
    case 'disabled':
      return { code: 550, text: '5.2.1 this address takes no mail now' }
    case 'foreign':
      return { code: 550, text: '5.7.1 nothing is passed on from here' }
    default:
      return recipient satisfies never
  }
}

/** Undefined: it is stored, and ours from now on. */
export function listenResultToReply(answer: ReceiveResult): Reply | undefined {
  switch (answer.kind) {
    case 'stored':
      return undefined
    case 'spent':
      return answer.reason === 'disk_low' ? replies.full : replies.spent
    case 'limited':
      return replies.later
    case 'later':
      return answer.reason === 'storage_full' ? replies.full : replies.later
    case 'unreadable':
      return replies.unreadable
    case 'rejected':
    case 'handshake':
      return replies.rejected
    case 'rejected_event':
      return rejectionReply(answer.reason)
    default:
      return answer satisfies never
  }
}

function rejectionReply(reason: string): Reply {
  if (reason.includes('spoof')) return replies.spoofed
  if (reason === 'signature_too_old') return replies.tooOld
  if (reason === 'date_too_far') return replies.tooFar
  return reason === 'mail_too_large' ? replies.tooLarge : replies.refused
}

/** As the library wants it. */
export function smtpError({ code, text }: Reply): Error {
  return Object.assign(new Error(text), { responseCode: code })
}
