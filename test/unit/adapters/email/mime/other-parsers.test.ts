// Mails that nodemailer writes, read by us and by two libraries that nobody here wrote: all three find the same.
import { Buffer } from 'node:buffer'
import { simpleParser } from 'mailparser'
import MailComposer from 'nodemailer/lib/mail-composer/index.js'
import PostalMime from 'postal-mime'
import { describe, expect, test } from 'vitest'
import { openMimePart } from '../../../../../adapters/email/mime/files.ts'
import { parseMailBody } from '../../../../../adapters/email/mime/parse-body.ts'
import { findHeadEnd } from '../../../../../adapters/email/mime/part-head.ts'

const picture = Buffer.from(Array.from({ length: 5_000 }, (_, at) => at % 251))
const long = 'Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. '.repeat(40).trim()

const mails: readonly (readonly [what: string, options: ConstructorParameters<typeof MailComposer>[0]])[] = [
  ['plain words', { text: 'Hello.\n\nBye.' }],
  ['a long line that is not ASCII', { text: long }],
  ['a long line as base64', { text: long, textEncoding: 'base64' }],
  ['words and a page', { text: 'Hello.', html: '<p>Hello.</p>' }],
  [
    'files',
    {
      text: 'See.',
      attachments: [
        { filename: 'a.bin', content: picture },
        { filename: 'b.txt', content: 'née' },
      ],
    },
  ],
  ['names that are not ASCII', { text: 'See.', attachments: [{ filename: 'Übersicht 図.pdf', content: picture }] }],
  ['a long name', { text: 'See.', attachments: [{ filename: `${'ü'.repeat(90)}.pdf`, content: picture }] }],
  [
    'a picture in the page and a file beside it',
    {
      text: 'Look.',
      html: '<p>Look.</p><img src="cid:p@x">',
      attachments: [
        { filename: 'p.png', cid: 'p@x', content: picture },
        { filename: 'c.pdf', content: picture },
      ],
    },
  ],
  ['an invitation', { text: 'Come.', icalEvent: { method: 'REQUEST', content: 'BEGIN:VCALENDAR\r\nEND:VCALENDAR' } }],
  [
    'a quoted-printable file',
    {
      text: 'See.',
      attachments: [{ filename: 'a.csv', content: 'é;1\r\n2;3\r\n', contentTransferEncoding: 'quoted-printable' }],
    },
  ],
]

async function compose(options: ConstructorParameters<typeof MailComposer>[0]): Promise<Uint8Array> {
  const message = new MailComposer({ from: 'a@x.example', to: 'b@y.example', ...options }).compile()
  return new Uint8Array(await message.build())
}

async function ours(raw: Uint8Array) {
  const body = await parseMailBody(raw, { bodyStart: findHeadEnd(raw, 0, raw.length).bodyStart })
  if ('kind' in body) throw new Error(body.reason)
  const files = await Promise.all(
    body.files.map(async ({ index, name, size }) => {
      const part = await openMimePart(raw, index)
      const bytes = Buffer.from(await new Response(part?.body).arrayBuffer())
      return { name, size, bytes: bytes.toString('base64') }
    }),
  )
  return { text: body.whole ?? body.text, files }
}

describe('what we read is what others read', () => {
  test.each(mails)('mailparser: %s', async (_, options) => {
    const raw = await compose(options)
    const theirs = await simpleParser(Buffer.from(raw), { skipTextToHtml: true, skipHtmlToText: true })
    expect(await ours(raw)).toEqual({
      text: theirs.text?.trim(),
      files: theirs.attachments.map(({ filename, size, content }) => ({
        name: filename ?? 'invitation.ics',
        size,
        bytes: content.toString('base64'),
      })),
    })
  })

  // It writes the line ends of quoted-printable files anew.
  const unchanged = mails.filter(([what]) => !what.includes('quoted-printable') && !what.includes('invitation'))
  test.each(unchanged)('postal-mime: %s', async (_, options) => {
    const raw = await compose(options)
    const theirs = await PostalMime.parse(raw)
    expect(await ours(raw)).toEqual({
      text: theirs.text?.trim(),
      files: theirs.attachments.map(({ filename, content }) => {
        const bytes = Buffer.from(content as ArrayBuffer)
        return { name: filename ?? 'invitation.ics', size: bytes.length, bytes: bytes.toString('base64') }
      }),
    })
  })
})
