// A body whose author signed it, and not the fields that say how it is read: the same bytes say the same, whatever those fields are.
import { describe, expect, test } from 'vitest'
import { openMimePart } from '../../../../../adapters/email/mime/files.ts'
import { parseMailBody } from '../../../../../adapters/email/mime/parse-body.ts'

const all = ['content-type', 'content-transfer-encoding', 'content-disposition', 'content-id']

async function read(head: readonly string[], body: string, uncounted: readonly string[] = all) {
  const top = ['From: alice@sender.example', ...head, '', ''].join('\r\n')
  const raw = Buffer.from(top + body.replaceAll('\n', '\r\n'), 'latin1')
  const said = await parseMailBody(raw, { bodyStart: top.length }, uncounted)
  return { raw, said: 'kind' in said ? said.reason : said.text, files: 'kind' in said ? [] : said.files }
}

/** Fields that others may write. */
const claims: readonly (readonly string[])[] = [
  [],
  ['Content-Type: text/plain; charset=utf-8'],
  ['Content-Type: text/html'],
  ['Content-Type: text/plain; charset=utf-16le', 'Content-Transfer-Encoding: base64'],
  ['Content-Type: text/plain; charset=iso-2022-jp', 'Content-Transfer-Encoding: quoted-printable'],
  ['Content-Type: multipart/mixed; boundary=b', 'Content-Transfer-Encoding: base64'],
  ['Content-Type: multipart/alternative; boundary="b b"'],
  ['Content-Type: multipart/digest; boundary=c'],
  ['Content-Type: message/rfc822'],
  ['Content-Type: application/pdf; name=a.pdf', 'Content-Disposition: attachment; filename=a.pdf'],
  ['Content-Type: text/plain; format=flowed; delsp=yes'],
  ['Content-Type: text/calendar', 'Content-ID: <a@b>', 'Content-Disposition: inline; filename=x'],
]

const utf8 = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')
const base64 = (text: string): string =>
  Buffer.from(text, 'utf8')
    .toString('base64')
    .replace(/(.{76})/g, '$1\n')
const long = 'Grüße aus Bonn, und weil es so schön ist, gleich noch einmal: Grüße aus Bonn.\r\n'
const part = (type: string, text: string): string => `Content-Type: ${type}\n\n${text}\n`

const bodies: readonly (readonly [string, string, string])[] = [
  ['a word', 'approve', 'approve'],
  ['four letters', 'stop', 'stop'],
  ['a token', 'dGVzdHRlc3Q0', 'dGVzdHRlc3Q0'],
  ['an equation', 'x=10 and y=AB', 'x=10 and y=AB'],
  ['a comparison', 'price>=80, tax>=AB', 'price>=80, tax>=AB'],
  ['text in UTF-8', utf8('Grüße'), 'Grüße'],
  ['text in Latin-1', 'Gr\u00fc\u00dfe', 'Grüße'],
  [
    'text with a line that begins with dashes',
    'a\n--b\nContent-Type: text/plain\n\nc\n--b--\n',
    'a\n--b\nContent-Type: text/plain\n\nc\n--b--',
  ],
  ['dashes without a part behind them', '--b\nsecret\n--b--\n', '--b\nsecret\n--b--'],
  ['parts without an end', '--b\nContent-Type: text/plain\n\nhello\n', '--b\nContent-Type: text/plain\n\nhello'],
  [
    'parts with more behind their end',
    '--b\nContent-Type: text/plain\n\nc\n--b--\nand more\n',
    '--b\nContent-Type: text/plain\n\nc\n--b--\nand more',
  ],
  ['comparisons', 'a < b > c', 'a < b > c'],
  ['a page', '<!DOCTYPE html>\n<html><body><p>Hello</p></body></html>', 'Hello'],
  [
    'a page in quoted-printable',
    '<html><body><p class=3D"a">Hello there, you who reads this, and ever so=\n many others</p></body></html>',
    'Hello there, you who reads this, and ever so many others',
  ],
  ['quoted-printable', 'Gr=C3=BC=C3=9Fe', 'Grüße'],
  ['quoted-printable with blanks at line ends', 'Gr=C3=BC=C3=9Fe und=  \n mehr', 'Grüße und mehr'],
  ['base64 in one line', base64('Käse\n'), 'Käse'],
  ['base64 in several', base64(long.repeat(5)), long.repeat(5).replaceAll('\r', '').trim()],
  ['two versions', `--b\n${part('text/plain', 'Hello')}--b\n${part('text/html', '<p>Hello</p>')}--b--\n`, 'Hello'],
  [
    'two versions, one with pictures',
    `\n--b\n${part('text/plain', 'Hello')}--b\n${part('multipart/related; boundary=c', `--c\n${part('text/html', '<p>Hello</p>')}--c--`)}--b--\n\n`,
    'Hello',
  ],
  ['words and more words', `--b\n${part('text/plain', 'One')}--b\n${part('text/plain', 'Two')}--b--`, 'One\n\nTwo'],
  [
    'a boundary with signs and blanks',
    `--=_b b?\n${part('text/plain', 'One')}--=_b b?\n${part('text/plain', 'Two')}--=_b b?--`,
    'One\n\nTwo',
  ],
]

describe('a body without fields that count', () => {
  test.each(bodies)('is %s, whatever is said of it', async (_name, body, expected) => {
    for (const claim of claims) expect((await read(claim, body)).said, claim.join()).toBe(expected)
  })

  test('has the files of its parts, which are opened as they were found', async () => {
    const file = 'Content-Type: text/csv; name=a.csv\nContent-Transfer-Encoding: base64\n\nYSxiCg=='
    const body = `--b\n${part('text/plain', 'See it.')}--b\n${file}\n--b--\n`
    for (const claim of claims) {
      const { raw, said, files } = await read(claim, body)
      expect([said, files.map(({ name, index, mime }) => [name, index, mime])]).toEqual([
        'See it.',
        [['a.csv', 1, 'text/csv']],
      ])
      const opened = await openMimePart(raw, 1, all)
      expect(await new Response(opened?.body as BodyInit).text()).toBe('a,b\n')
    }
  })

  test('is read in the charset and with the type that are signed', async () => {
    const encoding = all.slice(1)
    const typed = (type: string) => [`Content-Type: ${type}`, 'Content-Transfer-Encoding: 8bit']
    expect((await read(typed('text/plain; charset=iso-8859-1'), 'Gr=FC=DFe', encoding)).said).toBe('Grüße')
    const gb = 'xOO6w6OsysC956OhxOO6w6OsysC956Oh'
    expect((await read(typed('text/plain; charset=gb2312'), gb, encoding)).said).toBe('你好，世界！你好，世界！')
    expect((await read(typed('text/plain; charset=gb2312'), 'stop', encoding)).said).toBe('stop')
    expect((await read(typed('text/html'), 'a<br>b', encoding)).said).toBe('a\nb')
  })

  test('is read by its fields where they count', async () => {
    expect((await read(['Content-Type: text/html'], '<i>Hello</i>', [])).said).toBe('Hello')
    expect((await read(['Content-Transfer-Encoding: base64'], 'YXBwcm92ZQ==', [])).said).toBe('approve')
  })

  test('is looked at in a time that grows with it', async () => {
    const times = await Promise.all(
      [1, 8].map(async (size) => {
        const body = `${'=C3=A4'.repeat(12)}=\n`.repeat(size * 20_000)
        const start = performance.now()
        await read([], body)
        return performance.now() - start
      }),
    )
    expect((times[1] ?? 0) / Math.max(5, times[0] ?? 0)).toBeLessThan(40)
  })
})
