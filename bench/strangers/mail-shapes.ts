// Mails as strangers may make them up: each shape is one way to be large, so that what it costs can be compared with its size.
import { createHash, createSign } from 'node:crypto'
import { strangerKey, strangerSelector } from './stranger-key.ts'

export type MailShape = {
  readonly name: string
  /** A mail of about so many bytes, as it stands after DATA; `serial` makes its Message-ID its own. */
  readonly make: (bytes: number, serial: number) => Buffer
}

export const mailAccount = { domain: 'agents.bench.example', agent: 'demo' } as const
export const strangerDomain = 'stranger.example'

const lineEnd = '\r\n'
const words = 'The lamp in the hall has gone out again and the spare one does not fit. '

type Mail = {
  readonly head?: readonly string[]
  readonly type?: string
  readonly from?: string
  readonly to?: string
  readonly subject?: string
  readonly encoding?: string
}

/** The usual fields, those of the shape above them, and a body. */
function mail(serial: number, { head = [], from, to, subject, type, encoding }: Mail, body: string | Buffer): Buffer {
  const lines = [
    ...head,
    `From: ${from ?? `Stranger <someone@${strangerDomain}>`}`,
    `To: ${to ?? `<${mailAccount.agent}@${mailAccount.domain}>`}`,
    `Subject: ${subject ?? 'A question'}`,
    `Date: ${new Date().toUTCString().replace('GMT', '+0000')}`,
    `Message-ID: <${serial}.${process.pid}.${Date.now()}@${strangerDomain}>`,
    'MIME-Version: 1.0',
    `Content-Type: ${type ?? 'text/plain; charset=utf-8'}`,
    ...(encoding === undefined ? [] : [`Content-Transfer-Encoding: ${encoding}`]),
  ]
  const text = `${lines.join(lineEnd)}${lineEnd}${lineEnd}`
  return Buffer.concat([Buffer.from(text, 'latin1'), typeof body === 'string' ? Buffer.from(body, 'latin1') : body])
}

/** A text repeated until it has so many bytes; it ends with a whole piece. */
function fill(bytes: number, piece: string): string {
  return piece.repeat(Math.max(1, Math.ceil(bytes / piece.length)))
}

/** Numbered pieces, so that no two are the same. */
function pieces(bytes: number, piece: (index: number) => string): string[] {
  const made: string[] = []
  for (let [length, index] = [0, 0]; length < bytes; index += 1) {
    const next = piece(index)
    made.push(next)
    length += next.length + 2
  }
  return made
}

const shortLines = (bytes: number): string => fill(bytes, `${words}${lineEnd}`)
const oneLine = (bytes: number, sign = 'a'): string => sign.repeat(bytes)

type Signature = { readonly domain?: string; readonly c?: string; readonly h?: string; readonly more?: string }

/** A signature that names a key which exists, over a body that it does not fit. */
function signature({ domain = strangerDomain, c = 'relaxed/relaxed', h = 'from:to:subject', more = '' }: Signature) {
  const hash = Buffer.alloc(32, domain).toString('base64')
  const value = Buffer.alloc(256, domain).toString('base64')
  return `DKIM-Signature: v=1; a=rsa-sha256; c=${c}; d=${domain}; s=${strangerSelector}; h=${h};${more} bh=${hash}; b=${value}`
}

const signatures = (count: number, of: (index: number) => Signature): readonly string[] =>
  Array.from({ length: count }, (_, index) => signature(of(index)))

function arcSet(index: number): readonly string[] {
  const proof = `a=rsa-sha256; d=relay-${index}.example; s=${strangerSelector}; b=${Buffer.alloc(256, 'r').toString('base64')}`
  return [
    `ARC-Seal: i=${index}; cv=${index === 1 ? 'none' : 'pass'}; t=1700000000; ${proof}`,
    `ARC-Message-Signature: i=${index}; c=relaxed/relaxed; h=from:to:subject; bh=${Buffer.alloc(32, 'b').toString('base64')}; ${proof}`,
    `ARC-Authentication-Results: i=${index}; relay-${index}.example; dkim=pass header.d=${strangerDomain}`,
  ]
}

const boundary = '=_stranger'
const multipart = `multipart/mixed; boundary="${boundary}"`
const parted = (parts: readonly string[]): string =>
  `${parts.map((part) => `--${boundary}${lineEnd}${part}`).join('')}--${boundary}--${lineEnd}`
const part = (type: string, body: string, head: readonly string[] = []): string =>
  `${[`Content-Type: ${type}`, ...head].join(lineEnd)}${lineEnd}${lineEnd}${body}${lineEnd}`

/** Every container holds the next. */
function nested(bytes: number): string {
  const depth = Math.max(2, Math.floor(bytes / 90))
  const opens = Array.from(
    { length: depth },
    (_, level) => `--b${level}${lineEnd}Content-Type: multipart/mixed; boundary="b${level + 1}"${lineEnd}${lineEnd}`,
  )
  return opens.join('')
}

function nestedMails(bytes: number): string {
  const depth = Math.max(2, Math.floor(bytes / 60))
  return `${fill(depth * 48, `Subject: a${lineEnd}Content-Type: message/rfc822${lineEnd}${lineEnd}`)}end`
}

const html = (bytes: number, piece: string, serial: number): Buffer =>
  mail(serial, { type: 'text/html; charset=utf-8' }, fill(bytes, piece))

/** A mail whose signature is right: a stranger with a domain of their own. */
function signedByStranger(serial: number, bytes: number): Buffer {
  const file = fill(bytes, `${Buffer.alloc(57, 'file').toString('base64')}${lineEnd}`)
  const body = parted([
    part('text/plain; charset=utf-8', words),
    part('application/octet-stream; name="a.bin"', file, ['Content-Transfer-Encoding: base64']),
  ])
  const plain = mail(serial, { type: multipart }, body)
  return signMail(plain, body)
}

/** DKIM with simple canonicalization (RFC 6376, 3.4.1), so that signing costs one hash whatever the shape. */
function signMail(plain: Buffer, body: string): Buffer {
  const from = `From: Stranger <someone@${strangerDomain}>`
  // Empty lines at the end do not count.
  const hash = createHash('sha256')
    .update(Buffer.from(body.replace(/(?:\r\n)*$/, '\r\n'), 'latin1'))
    .digest('base64')
  const unsigned = `DKIM-Signature: v=1; a=rsa-sha256; c=simple/simple; d=${strangerDomain}; s=${strangerSelector}; h=From; bh=${hash}; b=`
  const signer = createSign('sha256').update(`${from}\r\n${unsigned}`)
  return Buffer.concat([Buffer.from(`${unsigned}${signer.sign(strangerKey().privateKey, 'base64')}\r\n`), plain])
}

export const mailShapes: readonly MailShape[] = [
  // Lines.
  { name: 'lines of 72', make: (bytes, serial) => mail(serial, {}, shortLines(bytes)) },
  { name: 'lines of one letter', make: (bytes, serial) => mail(serial, {}, fill(bytes, 'a\r\n')) },
  { name: 'empty lines', make: (bytes, serial) => mail(serial, {}, fill(bytes, '\r\n')) },
  { name: 'lines of a dot', make: (bytes, serial) => mail(serial, {}, fill(bytes, '.\r\n')) },
  { name: 'one line', make: (bytes, serial) => mail(serial, {}, oneLine(bytes)) },
  { name: 'bare CR', make: (bytes, serial) => mail(serial, {}, fill(bytes, 'abcdefg\r')) },
  { name: 'bare LF', make: (bytes, serial) => mail(serial, {}, fill(bytes, 'abcdefg\n')) },
  { name: 'NUL', make: (bytes, serial) => mail(serial, {}, oneLine(bytes, '\0')) },
  // Signatures.
  {
    name: 'one line, a signature',
    make: (bytes, serial) => mail(serial, { head: [signature({})] }, oneLine(bytes)),
  },
  {
    name: 'one line, a simple signature',
    make: (bytes, serial) => mail(serial, { head: [signature({ c: 'simple/simple' })] }, oneLine(bytes)),
  },
  {
    name: 'one line of spaces, a signature',
    make: (bytes, serial) => mail(serial, { head: [signature({})] }, `${oneLine(bytes, ' ')}a`),
  },
  {
    name: 'one line, ten signatures of ten domains',
    make: (bytes, serial) =>
      mail(serial, { head: signatures(10, (at) => ({ domain: `signer-${at}.example` })) }, oneLine(bytes)),
  },
  {
    name: 'short lines, a signature',
    make: (bytes, serial) => mail(serial, { head: [signature({})] }, shortLines(bytes)),
  },
  {
    name: 'lines of one letter, a signature',
    make: (bytes, serial) => mail(serial, { head: [signature({})] }, fill(bytes, 'a\r\n')),
  },
  {
    name: 'empty lines, a signature',
    make: (bytes, serial) => mail(serial, { head: [signature({})] }, `${fill(bytes, '\r\n')}a\r\n`),
  },
  {
    name: 'bare CR, a signature',
    make: (bytes, serial) => mail(serial, { head: [signature({})] }, fill(bytes, 'abcdefg\r')),
  },
  {
    name: 'words and runs of spaces, a signature',
    make: (bytes, serial) => mail(serial, { head: [signature({})] }, fill(bytes, `a${' '.repeat(900)}b  \r\n`)),
  },
  {
    name: 'ten signatures of one domain',
    make: (bytes, serial) => mail(serial, { head: signatures(10, () => ({})) }, shortLines(bytes)),
  },
  {
    name: 'ten signatures of ten domains',
    make: (bytes, serial) =>
      mail(serial, { head: signatures(10, (at) => ({ domain: `signer-${at}.example` })) }, shortLines(bytes)),
  },
  {
    name: 'ten signatures below the domain',
    make: (bytes, serial) =>
      mail(serial, { head: signatures(10, (at) => ({ domain: `s${at}.${strangerDomain}` })) }, shortLines(bytes)),
  },
  {
    name: 'ten signatures that count other lengths',
    make: (bytes, serial) => {
      const lengths = signatures(10, (at) => ({ more: ` l=${Math.floor((bytes * (at + 1)) / 11)};` }))
      return mail(serial, { head: lengths }, shortLines(bytes))
    },
  },
  {
    name: 'a head of signatures',
    make: (bytes, serial) =>
      mail(serial, { head: pieces(bytes, (at) => signature({ domain: `signer-${at}.example` })) }, words),
  },
  {
    name: 'a head of signatures of one domain',
    make: (bytes, serial) => mail(serial, { head: pieces(bytes, () => signature({})) }, words),
  },
  {
    name: 'a signature over very many names',
    make: (bytes, serial) => mail(serial, { head: [signature({ h: `${fill(bytes, 'x-a:')}from` })] }, words),
  },
  {
    name: 'very many fields, all of them signed',
    make: (bytes, serial) => {
      const half = bytes / 2
      return mail(
        serial,
        { head: [signature({ h: `${fill(half, 'x-a:\r\n ')}from` }), ...pieces(half, () => 'X-A: b')] },
        words,
      )
    },
  },
  {
    name: 'a signature of very many tags',
    make: (bytes, serial) => mail(serial, { head: [signature({ more: fill(bytes, ' x=1;') })] }, words),
  },
  {
    name: 'a signature folded at every sign',
    make: (bytes, serial) => mail(serial, { head: [`${signature({})}${fill(bytes, '\r\n a')}`] }, words),
  },
  {
    name: 'fifty ARC sets',
    make: (bytes, serial) =>
      mail(serial, { head: Array.from({ length: 50 }, (_, at) => arcSet(50 - at)).flat() }, shortLines(bytes)),
  },
  {
    name: 'a head of ARC sets',
    make: (bytes, serial) => mail(serial, { head: pieces(bytes, (at) => arcSet(at + 1).join(lineEnd)) }, words),
  },
  {
    name: 'signed by a stranger, with a file',
    make: (bytes, serial) => signedByStranger(serial, bytes),
  },
  // Heads.
  { name: 'a subject without end', make: (bytes, serial) => mail(serial, { subject: oneLine(bytes) }, words) },
  {
    name: 'a folded subject',
    make: (bytes, serial) => mail(serial, { subject: `${fill(bytes, `${words}\r\n `)}end` }, words),
  },
  {
    name: 'a subject folded at every sign',
    make: (bytes, serial) => mail(serial, { subject: `${fill(bytes, 'a\r\n ')}end` }, words),
  },
  {
    name: 'a head of fields',
    make: (bytes, serial) => mail(serial, { head: pieces(bytes, (at) => `X-${at}: b`) }, words),
  },
  {
    name: 'a head of one field',
    make: (bytes, serial) => mail(serial, { head: pieces(bytes, () => 'X-Same: b') }, words),
  },
  {
    name: 'a head of Received',
    make: (bytes, serial) =>
      mail(
        serial,
        { head: pieces(bytes, (at) => `Received: from a${at}.example by b.example; Thu, 1 Jan 2026`) },
        words,
      ),
  },
  {
    name: 'a head of results',
    make: (bytes, serial) =>
      mail(
        serial,
        { head: pieces(bytes, (at) => `Authentication-Results: mx${at}.example; dkim=pass; spf=pass`) },
        words,
      ),
  },
  {
    name: 'encoded words',
    make: (bytes, serial) => mail(serial, { subject: `${fill(bytes, '=?utf-8?q?a_=C3=A4?=\r\n ')}end` }, words),
  },
  {
    name: 'encoded words in base64, cut inside of a sign',
    make: (bytes, serial) =>
      mail(serial, { subject: `${fill(bytes, '=?utf-8?b?w6TD?= =?utf-8?b?pA==?=\r\n ')}end` }, words),
  },
  {
    name: 'encoded words without end',
    make: (bytes, serial) => mail(serial, { subject: fill(bytes, '=?utf-8?q?a') }, words),
  },
  {
    name: 'a parameter in pieces',
    make: (bytes, serial) => {
      const name = pieces(bytes, (at) => `filename*${at}*=utf-8''a%C3%A4`).join(`;${lineEnd} `)
      return mail(serial, { head: [`Content-Disposition: attachment; ${name}`] }, words)
    },
  },
  {
    name: 'a parameter in pieces, backwards',
    make: (bytes, serial) => {
      const name = pieces(bytes, (at) => `name*${9_999_999 - at}=a`).join(`;${lineEnd} `)
      return mail(serial, { type: `text/plain; ${name}` }, words)
    },
  },
  {
    name: 'a quoted parameter of backslashes',
    make: (bytes, serial) => mail(serial, { type: `text/plain; name="${fill(bytes, '\\\\\r\n ')}"` }, words),
  },
  {
    name: 'a long list of references',
    make: (bytes, serial) =>
      mail(
        serial,
        { head: [`References: ${pieces(bytes, (at) => `<${at}@elsewhere.example>`).join(`${lineEnd} `)}`] },
        words,
      ),
  },
  {
    name: 'references without an end',
    make: (bytes, serial) => mail(serial, { head: [`References: ${fill(bytes, '<a')}`] }, words),
  },
  {
    name: 'very many recipients',
    make: (bytes, serial) =>
      mail(serial, { to: pieces(bytes, (at) => `P${at} <p${at}@elsewhere.example>`).join(`,${lineEnd} `) }, words),
  },
  {
    name: 'groups of recipients',
    make: (bytes, serial) => mail(serial, { to: fill(bytes, `g: a@b.example, c@d.example;,${lineEnd} `) }, words),
  },
  {
    name: 'comments in comments in From',
    make: (bytes, serial) => {
      const [open, close] = [fill(bytes / 2, '('), fill(bytes / 2, ')')]
      return mail(serial, { from: `${open}${close} <someone@${strangerDomain}>` }, words)
    },
  },
  {
    name: 'open comments in From',
    make: (bytes, serial) => mail(serial, { from: `${fill(bytes, '(a\r\n ')} <someone@${strangerDomain}>` }, words),
  },
  {
    name: 'a quoted name of backslashes in From',
    make: (bytes, serial) => mail(serial, { from: `"${fill(bytes, '\\"')}" <someone@${strangerDomain}>` }, words),
  },
  {
    name: 'very many authors',
    make: (bytes, serial) =>
      mail(serial, { from: pieces(bytes, (at) => `<p${at}@${strangerDomain}>`).join(`,${lineEnd} `) }, words),
  },
  // Parts.
  {
    name: 'very many parts',
    make: (bytes, serial) => mail(serial, { type: multipart }, parted(pieces(bytes, () => part('text/plain', 'a')))),
  },
  {
    name: 'very many files',
    make: (bytes, serial) => {
      const file = (at: number) =>
        part(`image/png; name="${at}.png"`, 'iVBORw0K', ['Content-Transfer-Encoding: base64'])
      return mail(serial, { type: multipart }, parted(pieces(bytes, file)))
    },
  },
  {
    name: 'very many boundaries',
    make: (bytes, serial) => mail(serial, { type: multipart }, fill(bytes, `--${boundary}${lineEnd}`)),
  },
  {
    name: 'lines that are almost the boundary',
    make: (bytes, serial) => {
      const long = '-'.repeat(60)
      const type = `multipart/mixed; boundary="${long}a"`
      return mail(serial, { type }, `--${long}a${lineEnd}${lineEnd}${fill(bytes, `--${long}b${lineEnd}`)}`)
    },
  },
  {
    name: 'a boundary of dashes in a line of dashes',
    make: (bytes, serial) =>
      mail(serial, { type: `multipart/mixed; boundary="${'-'.repeat(60)}"` }, `${lineEnd}${oneLine(bytes, '-')}`),
  },
  {
    name: 'parts in parts',
    make: (bytes, serial) => mail(serial, { type: 'multipart/mixed; boundary="b0"' }, nested(bytes)),
  },
  {
    name: 'mails in mails',
    make: (bytes, serial) => mail(serial, { type: 'message/rfc822' }, nestedMails(bytes)),
  },
  {
    name: 'very many mails side by side',
    make: (bytes, serial) => {
      const inner = part('message/rfc822', `From: a@b.example${lineEnd}Subject: c${lineEnd}${lineEnd}d`)
      return mail(serial, { type: multipart }, parted(pieces(bytes, () => inner)))
    },
  },
  {
    name: 'a report of very many fields',
    make: (bytes, serial) => {
      const fields = pieces(bytes, (at) => `Final-Recipient: rfc822; p${at}@elsewhere.example`).join(lineEnd)
      const body = parted([part('text/plain', 'a'), part('message/delivery-status', fields)])
      return mail(serial, { type: `multipart/report; report-type=delivery-status; boundary="${boundary}"` }, body)
    },
  },
  // Encodings.
  {
    name: 'base64',
    make: (bytes, serial) => {
      const line = `${Buffer.alloc(57, words).toString('base64')}${lineEnd}`
      return mail(serial, { type: 'application/octet-stream; name="a.bin"', encoding: 'base64' }, fill(bytes, line))
    },
  },
  {
    name: 'base64 in one line',
    make: (bytes, serial) => mail(serial, { encoding: 'base64' }, fill(bytes, 'QUJD')),
  },
  {
    name: 'base64 with a stop after every group',
    make: (bytes, serial) => mail(serial, { encoding: 'base64' }, fill(bytes, 'QQ==')),
  },
  {
    name: 'base64 of other signs',
    make: (bytes, serial) => mail(serial, { encoding: 'base64' }, fill(bytes, '!?*~\r\n')),
  },
  {
    name: 'quoted-printable, soft line ends',
    make: (bytes, serial) => mail(serial, { encoding: 'quoted-printable' }, fill(bytes, 'a=\r\n')),
  },
  {
    name: 'quoted-printable, every sign encoded',
    make: (bytes, serial) => mail(serial, { encoding: 'quoted-printable' }, fill(bytes, '=C3=A4')),
  },
  {
    name: 'quoted-printable, spaces before line ends',
    make: (bytes, serial) => mail(serial, { encoding: 'quoted-printable' }, fill(bytes, `${' '.repeat(900)}a\r\n`)),
  },
  {
    name: 'quoted-printable, one line of spaces',
    make: (bytes, serial) => mail(serial, { encoding: 'quoted-printable' }, `${oneLine(bytes, ' ')}a`),
  },
  {
    name: 'uuencode',
    make: (bytes, serial) =>
      mail(serial, { encoding: 'x-uuencode' }, `begin 644 a\r\n${fill(bytes, `M${'#'.repeat(60)}\r\n`)}\`\r\nend\r\n`),
  },
  {
    name: 'uuencode, very many beginnings',
    make: (bytes, serial) => mail(serial, {}, fill(bytes, 'begin 644 a\r\n')),
  },
  {
    name: 'ISO-2022-JP, an escape at every sign',
    make: (bytes, serial) => mail(serial, { type: 'text/plain; charset=iso-2022-jp' }, fill(bytes, '\x1b$B$"\x1b(B')),
  },
  {
    name: 'UTF-7',
    make: (bytes, serial) => mail(serial, { type: 'text/plain; charset=utf-7' }, fill(bytes, '+AOQ-')),
  },
  {
    name: 'UTF-16 with surrogates out of order',
    make: (bytes, serial) => mail(serial, { type: 'text/plain; charset=utf-16' }, fill(bytes, '\x00\xdc\x00\xd8')),
  },
  {
    name: 'a charset that is none',
    make: (bytes, serial) => mail(serial, { type: 'text/plain; charset=x-none' }, fill(bytes, '\xff\xfe\r\n')),
  },
  {
    name: 'combining signs',
    make: (bytes, serial) => mail(serial, {}, Buffer.from(fill(bytes / 2, 'a\u0301\u0323\u0307\u0308'), 'utf8')),
  },
  {
    name: 'directions and joiners',
    make: (bytes, serial) => mail(serial, {}, Buffer.from(fill(bytes / 3, '\u202e\u200d\u2066'), 'utf8')),
  },
  // Pages.
  { name: 'HTML, elements in elements', make: (bytes, serial) => html(bytes, '<div>', serial) },
  { name: 'HTML, formatting in formatting', make: (bytes, serial) => html(bytes, '<b><p>', serial) },
  { name: 'HTML, tables in tables', make: (bytes, serial) => html(bytes, '<table><tr><td>', serial) },
  { name: 'HTML, lists in lists', make: (bytes, serial) => html(bytes, '<ul><li>a', serial) },
  { name: 'HTML, quotes in quotes', make: (bytes, serial) => html(bytes, '<blockquote>a', serial) },
  { name: 'HTML, closed and never opened', make: (bytes, serial) => html(bytes, '</div></p></b>', serial) },
  { name: 'HTML, brackets', make: (bytes, serial) => html(bytes, '<', serial) },
  { name: 'HTML, tags without an end', make: (bytes, serial) => html(bytes, '<a href="', serial) },
  { name: 'HTML, comments without an end', make: (bytes, serial) => html(bytes, '<!--', serial) },
  { name: 'HTML, comments', make: (bytes, serial) => html(bytes, '<!-- a -->', serial) },
  { name: 'HTML, entities', make: (bytes, serial) => html(bytes, '&amp;&#x41;&eacute;', serial) },
  { name: 'HTML, entities without an end', make: (bytes, serial) => html(bytes, '&a', serial) },
  { name: 'HTML, numbers without an end', make: (bytes, serial) => html(bytes, '&#1', serial) },
  {
    name: 'HTML, very many attributes',
    make: (bytes, serial) =>
      mail(serial, { type: 'text/html' }, `<p ${pieces(bytes, (at) => `a${at}="b"`).join(' ')}>a</p>`),
  },
  {
    name: 'HTML, a style sheet',
    make: (bytes, serial) => mail(serial, { type: 'text/html' }, `<style>${fill(bytes, '.a>b{color:red}')}</style>a`),
  },
  {
    name: 'HTML, style sheets without an end',
    make: (bytes, serial) => html(bytes, '<style>', serial),
  },
  {
    name: 'HTML, styles of elements',
    make: (bytes, serial) => html(bytes, '<p style="display:none;color:red">a', serial),
  },
  { name: 'HTML, links', make: (bytes, serial) => html(bytes, '<a href="https://a.example/b?c=d">e</a>', serial) },
  { name: 'HTML, pictures', make: (bytes, serial) => html(bytes, '<img src="cid:a" alt="b">', serial) },
  { name: 'HTML, spaces', make: (bytes, serial) => html(bytes, `${' '.repeat(900)}<br>\r\n`, serial) },
  // What replies quote.
  { name: 'quoted lines', make: (bytes, serial) => mail(serial, {}, fill(bytes, `> ${words}${lineEnd}`)) },
  {
    name: 'quotes in quotes',
    make: (bytes, serial) => mail(serial, {}, fill(bytes, `${'>'.repeat(900)} a${lineEnd}`)),
  },
  {
    name: 'lines that begin a quotation',
    make: (bytes, serial) => mail(serial, {}, fill(bytes, `On Thu, 1 Jan 2026, Stranger wrote:${lineEnd}`)),
  },
  {
    name: 'a line that begins a quotation and never ends',
    make: (bytes, serial) => mail(serial, {}, fill(bytes, 'On Thu, 1 Jan 2026, Stranger ')),
  },
  {
    name: 'lines that begin a quoted head',
    make: (bytes, serial) => mail(serial, {}, fill(bytes, `From: a@b.example${lineEnd}Sent: now${lineEnd}`)),
  },
  { name: 'lines of a signature', make: (bytes, serial) => mail(serial, {}, fill(bytes, `-- ${lineEnd}`)) },
  { name: 'lines of dashes', make: (bytes, serial) => mail(serial, {}, fill(bytes, `${'_'.repeat(60)}${lineEnd}`)) },
  {
    name: 'flowed lines',
    make: (bytes, serial) =>
      mail(serial, { type: 'text/plain; format=flowed; delsp=yes' }, fill(bytes, `a \r\n > b \r\n`)),
  },
  { name: 'links', make: (bytes, serial) => mail(serial, {}, fill(bytes, `https://a.example/b?c=d${lineEnd}`)) },
]

/** Those that are measured at the smaller scale: one of each kind of work. */
export const everydayMailShapes: readonly string[] = [
  'lines of a dot',
  'bare CR, a signature',
  'one line, a signature',
  'one line of spaces, a signature',
  'one line, ten signatures of ten domains',
  'lines of one letter, a signature',
  'a head of signatures',
  'very many fields, all of them signed',
  'a signature of very many tags',
  'fifty ARC sets',
  'a folded subject',
  'a head of fields',
  'encoded words',
  'a parameter in pieces',
  'a quoted parameter of backslashes',
  'a long list of references',
  'very many recipients',
  'comments in comments in From',
  'very many parts',
  'parts in parts',
  'mails in mails',
  'very many boundaries',
  'base64 with a stop after every group',
  'quoted-printable, one line of spaces',
  'uuencode, very many beginnings',
  'HTML, elements in elements',
  'HTML, brackets',
  'HTML, entities without an end',
  'lines that begin a quotation',
]
