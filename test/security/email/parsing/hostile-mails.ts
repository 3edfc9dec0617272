// Mails made to cost more than they weigh: 100 KB to 25 MB. Built by filling, so that building them leaves no memory behind.
import { Buffer } from 'node:buffer'

export type HostileMail = {
  readonly name: string
  /** What readBody says of it: the reason it is refused for, or `read`. */
  readonly expected: string
  readonly build: () => Buffer
}

const limit = 25 * 1024 * 1024
const megabyte = 1024 * 1024

const plain = (body: Buffer | string, type = 'text/plain; charset=utf-8', encoding = '8bit'): Buffer =>
  mail(`Content-Type: ${type}\r\nContent-Transfer-Encoding: ${encoding}`, body)

function mail(head: string, body: Buffer | string): Buffer {
  return Buffer.concat([
    Buffer.from(`From: a@x.example\r\nMIME-Version: 1.0\r\n${head}\r\n\r\n`),
    typeof body === 'string' ? Buffer.from(body) : body,
  ])
}

const multipart = (body: Buffer | string, boundary = 'b'): Buffer =>
  mail(`Content-Type: multipart/mixed; boundary="${boundary}"`, body)

function fill(bytes: number, pattern: string): Buffer {
  return Buffer.alloc(bytes, pattern)
}

const full = (pattern: string): Buffer => fill(limit - megabyte / 2, pattern)

function nested(levels: number): string {
  const open = Array.from(
    { length: levels },
    (_, at) => `--b${at}\r\nContent-Type: multipart/mixed; boundary=b${at + 1}\r\n\r\n`,
  )
  return open.join('')
}

/** As many boundaries as may be open, alike but for their last letter, and lines that are like all of them. */
function alike(): Buffer {
  const names = Array.from({ length: 20 }, (_, at) => `${'x'.repeat(68)}${String.fromCharCode(97 + at)}`)
  const open = names
    .slice(1)
    .map((name, at) => `--${names[at]}\r\nContent-Type: multipart/mixed; boundary=${name}\r\n\r\n`)
  return multipart(
    Buffer.concat([
      Buffer.from(`${open.join('')}--${names[19]}\r\n\r\n`),
      fill(20 * megabyte, `--${'x'.repeat(68)}z\n`),
    ]),
    names[0],
  )
}

function messages(levels: number): Buffer {
  const inner = Array.from({ length: levels }, (_, at) => `Content-Type: message/rfc822\r\nSubject: ${at}\r\n\r\n`)
  return Buffer.from(`${inner.join('')}hello`)
}

function attachment(body: Buffer, encoding: string): Buffer {
  const head = `--b\r\n\r\nSee the file.\r\n--b\r\nContent-Type: application/pdf; name=a.pdf\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n`
  return multipart(Buffer.concat([Buffer.from(head), body, Buffer.from('\r\n--b--\r\n')]))
}

function report(): Buffer {
  return mail(
    'Content-Type: multipart/report; report-type=delivery-status; boundary=b',
    Buffer.concat([
      Buffer.from('--b\r\n\r\nIt failed.\r\n--b\r\nContent-Type: message/delivery-status\r\n\r\n'),
      fill(5 * megabyte, 'Final-Recipient: rfc822; a@x.example\r\nAction: failed\r\nStatus: 5.1.1\r\n\r\n'),
      Buffer.from('\r\n--b--\r\n'),
    ]),
  )
}

const read = 'read'

export const hostileMails: readonly HostileMail[] = [
  { name: 'a thousand multiparts inside each other', expected: 'too_deep', build: () => multipart(nested(1000), 'b0') },
  { name: 'a thousand messages inside each other', expected: read, build: () => messages(1000) },
  { name: '50,000 parts', expected: 'too_many_parts', build: () => multipart('--b\r\n\r\nx\r\n'.repeat(50_000)) },
  {
    name: '50,000 ends of one multipart',
    expected: read,
    build: () => multipart(`--b\r\n\r\nx\r\n${'--b--\r\n'.repeat(50_000)}`),
  },
  { name: '25 MB of lines that could be boundaries', expected: read, build: () => multipart(full('--x\n')) },
  { name: '25 MB of two dashes', expected: read, build: () => multipart(full('--\n')) },
  { name: 'twenty boundaries that are alike, and lines like them', expected: read, build: alike },
  {
    name: 'the head of a part that does not end',
    expected: 'part_head_too_large',
    build: () => multipart(Buffer.concat([Buffer.from('--b\r\n'), fill(5 * megabyte, 'X-A: b\r\n')])),
  },
  { name: 'a header line of 5 MB', expected: read, build: () => mail(`Subject: ${'x'.repeat(5 * megabyte)}`, 'hello') },
  {
    name: '100,000 headers',
    expected: read,
    build: () => mail('X-Header: value\r\n'.repeat(100_000).trimEnd(), 'hello'),
  },
  { name: '100,000 parameters', expected: read, build: () => plain('hello', `text/plain${'; a=b'.repeat(100_000)}`) },
  {
    name: '100,000 continued pieces of a name',
    expected: read,
    build: () => plain('hello', `text/x; ${Array.from({ length: 100_000 }, (_, at) => `name*${at}=a`).join('; ')}`),
  },
  {
    name: '100,000 comments that are not closed',
    expected: read,
    build: () => plain('hello', `text/plain ${'('.repeat(100_000)}`),
  },
  {
    name: 'an encoded name of 1 MB',
    expected: read,
    build: () => plain('hello', `image/png; name="${'=?utf-8?Q?a?= '.repeat(75_000)}"`),
  },
  {
    name: 'a file of 25 MB as base64',
    expected: read,
    build: () => attachment(full(`${'QUJD'.repeat(19)}\r\n`), 'base64'),
  },
  {
    name: 'a file of 25 MB as quoted-printable',
    expected: read,
    build: () => attachment(full('=41=42=43=\r\n'), 'quoted-printable'),
  },
  {
    name: 'a text of 25 MB as base64',
    expected: read,
    build: () => plain(full(`${'QUJD'.repeat(19)}\r\n`), 'text/plain', 'base64'),
  },
  {
    name: 'a text of 25 MB as quoted-printable',
    expected: read,
    build: () => plain(full('=C3=A9=\r\n'), 'text/plain; charset=utf-8', 'quoted-printable'),
  },
  {
    name: 'quoted-printable that is nothing but equal signs',
    expected: read,
    build: () => plain(full('='), 'text/plain', 'quoted-printable'),
  },
  {
    name: 'base64 that is nothing but equal signs',
    expected: read,
    build: () => plain(full('='), 'text/plain', 'base64'),
  },
  {
    name: 'a flowed paragraph of 2 MB',
    expected: read,
    build: () => plain(fill(2 * megabyte, 'some words \r\n'), 'text/plain; format=flowed'),
  },
  {
    name: 'a flowed text of 25 MB with changing depth',
    expected: read,
    build: () => plain(full('> a \r\n>> b \r\n'), 'text/plain; format=flowed; delsp=yes'),
  },
  {
    name: '25 MB of iso-2022-jp escapes',
    expected: read,
    build: () => plain(full('\u001b$B$\u001b(B'), 'text/plain; charset=iso-2022-jp'),
  },
  { name: '25 MB of line ends', expected: read, build: () => plain(full('\n')) },
  { name: '25 MB of quoted lines', expected: read, build: () => plain(full('> yes\n')) },
  { name: '25 MB of words and quotes in turn', expected: read, build: () => plain(full('no\n> yes\n')) },
  {
    name: '25 MB of attributions',
    expected: read,
    build: () => plain(full('On Mon, 1 Jan 2024 at 10:00 Ann <a@x.example> wrote:\n')),
  },
  {
    name: '25 MB of beginnings of attributions',
    expected: read,
    build: () => plain(full('On Mon, 1 Jan 2024 at 10:00 Ann <a@x.example\n')),
  },
  { name: '25 MB of header lines', expected: read, build: () => plain(full('From: a\nSent: b\n')) },
  { name: '25 MB of signature marks', expected: read, build: () => plain(full('-- \n')) },
  { name: '25 MB of zero-width characters', expected: read, build: () => plain(full('\u200d')) },
  { name: '25 MB of tags', expected: read, build: () => plain(full('<div><b>'), 'text/html') },
  { name: '25 MB of entities', expected: read, build: () => plain(full('&amp;'), 'text/html') },
  {
    name: '25 MB of hidden words',
    expected: read,
    build: () => plain(full('<p style="display:none">x</p>'), 'text/html'),
  },
  {
    name: '25 MB of marked quotes',
    expected: read,
    build: () => plain(full('<div class="gmail_quote">x</div>'), 'text/html'),
  },
  {
    name: 'one attribute of 25 MB',
    expected: read,
    build: () => plain(Buffer.concat([Buffer.from('<a href="'), full('a')]), 'text/html'),
  },
  { name: 'a report about 60,000 recipients', expected: read, build: report },
  { name: 'one byte more than is taken', expected: 'mail_too_large', build: () => plain(fill(limit, 'x')) },
]
