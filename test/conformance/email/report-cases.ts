// Reports about mails of ours: deliveries (RFC 3464), complaints (RFC 5965), receipts (RFC 8098), and what is none.
import type { MailReport } from '../../../adapters/email/wire/mail.ts'
import { bytesOf, mail, multipart, part, text } from './build-mail.ts'

const about = 'k7abc.1@y.example'
const original = part(
  'Content-Type: message/rfc822',
  bytesOf(`From: agent@y.example\nMessage-ID:\n <${about}>\nSubject: Re: Thursday\n\nHi`),
)
const headers = part('Content-Type: text/rfc822-headers', bytesOf(`Message-ID: <${about}>\nSubject: Re: Thursday\n`))

function report(type: string, status: string, enclosed: Uint8Array): Uint8Array {
  return mail(multipart('report', [text('About your mail.'), part(`Content-Type: message/${type}`, status), enclosed]))
}

const delivery = (recipient: string, enclosed = original): Uint8Array =>
  report('delivery-status', `Reporting-MTA: dns; mx.x.example\nArrival-Date: now\n\n${recipient}`, enclosed)

const recipient = (more: Partial<MailReport['recipients'][number]>) => ({
  address: 'ann@x.example',
  action: undefined,
  status: undefined,
  diagnostic: undefined,
  ...more,
})

const failed =
  'Final-Recipient: rfc822; ann@x.example\nAction: failed\nStatus: 5.1.1\nDiagnostic-Code: smtp; 550 5.1.1 no\n such user\n'
const noSuchUser = recipient({ action: 'failed', status: '5.1.1', diagnostic: '550 5.1.1 no such user' })

const reports: readonly (readonly [id: string, what: string, raw: Uint8Array, report: MailReport | undefined])[] = [
  ['EM-128', 'no such user', delivery(failed), { kind: 'delivery', recipients: [noSuchUser], about }],
  [
    'EM-128',
    'only the headers come back',
    delivery(failed, headers),
    { kind: 'delivery', recipients: [noSuchUser], about },
  ],
  [
    'EM-128',
    'it takes longer',
    delivery(
      'Original-Recipient: rfc822;ann@x.example\nFinal-Recipient: rfc822;other@x.example\nAction: Delayed (mailbox busy)\nStatus: 4.2.2\n',
    ),
    { kind: 'delivery', recipients: [recipient({ action: 'delayed', status: '4.2.2' })], about },
  ],
  [
    'EM-128',
    'two recipients, one of them reached',
    delivery(`${failed}\nFinal-Recipient: rfc822; <bob@x.example>\nAction: delivered\nStatus: 2.0.0\n`),
    {
      kind: 'delivery',
      recipients: [noSuchUser, recipient({ address: 'bob@x.example', action: 'delivered', status: '2.0.0' })],
      about,
    },
  ],
  [
    'EM-128',
    'fields that nobody can read',
    delivery('Final-Recipient: what\nAction: exploded\nStatus: bad\n', text('gone')),
    { kind: 'delivery', recipients: [recipient({ address: '' })], about: undefined },
  ],
  [
    'EM-128',
    'a bounce in words only is no report',
    mail(
      text(
        `Hi. This is the qmail-send program at x.example.\n\n<ann@x.example>:\nSorry, no mailbox here by that name.\n`,
      ),
    ),
    undefined,
  ],
  [
    'EM-128',
    'a bounce that somebody attaches is no report',
    mail(multipart('mixed', [text('What does this mean?'), part('Content-Type: message/delivery-status', failed)])),
    undefined,
  ],
  [
    'EM-129',
    'a complaint',
    report(
      'feedback-report',
      'Feedback-Type: abuse\nUser-Agent: x/1\nVersion: 1\nOriginal-Rcpt-To: <ann@x.example>\n',
      original,
    ),
    { kind: 'complaint', recipients: [recipient({})], about },
  ],
  [
    'EM-129',
    'a receipt',
    report(
      'disposition-notification',
      `Final-Recipient: rfc822; ann@x.example\nOriginal-Message-ID: <${about}>\nDisposition: manual-action/MDN-sent-manually; displayed\n`,
      text(''),
    ),
    { kind: 'receipt', recipients: [recipient({})], about },
  ],
]

export const reportCases = reports.map(([id, what, raw, expected]) => ({
  id,
  what,
  raw,
  body: expected === undefined ? {} : { report: expected },
  hasReport: expected !== undefined,
}))
