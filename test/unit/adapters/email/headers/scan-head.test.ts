// The one reading of a mail's head.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { scanHead } from '../../../../../adapters/email/headers/scan-head.ts'
import { isLinear } from '../../../../doubles/linear-time.ts'
import { draftMail } from '../../../../doubles/signed-mails.ts'
import { scaled } from '../../../../setup/scale.ts'

const scan = (text: string) => scanHead(Buffer.from(text, 'utf8'))
const scanDraft = (head: readonly string[]) => scanHead(Buffer.from(draftMail({ head }), 'latin1'))
const mail = (...lines: readonly string[]) => [...lines, '', 'body'].join('\r\n')

describe('the head of a mail', () => {
  test('ends at the first empty line, whichever way lines end', () => {
    for (const end of ['\r\n', '\n']) {
      const text = ['From: a@b.example', 'Subject: x', '', 'From: c@d.example'].join(end)
      const head = scan(text)
      expect([head.from?.address, head.faults]).toEqual(['a@b.example', []])
      expect(text.slice(head.bodyStart)).toBe('From: c@d.example')
    }
  })

  test('may be all there is, or nothing at all', () => {
    const whole = scan('From: a@b.example\r\nSubject: x')
    expect([whole.bodyStart, whole.subject, whole.faults]).toEqual([29, 'x', []])
    expect(scan('')).toMatchObject({ fields: [], bodyStart: 0, faults: ['no_from'] })
    expect(scan('\r\nFrom: a@b.example\r\n')).toMatchObject({ fields: [], bodyStart: 2, faults: ['no_from'] })
  })

  test('has its folded lines joined, with the blanks that were there', () => {
    const head = scan(mail('From: Alice\r\n\t<a@b.example>', 'Subject: one\r\n  two\r\n three'))
    expect(head.fields).toEqual([
      { name: 'from', value: 'Alice\t<a@b.example>' },
      { name: 'subject', value: 'one  two three' },
    ])
  })

  test('is refused when it is too large, has too many lines or too many fields', () => {
    const from = 'From: a@b.example\r\n'
    expect(scan(`${from}X: ${'y'.repeat(257 * 1024)}\r\n\r\n`).faults).toContain('head_too_large')
    expect(scan(`${from}X: y\r\n${' z\r\n'.repeat(5001)}\r\n`).faults).toContain('head_too_large')
    expect(scan(`${from}${'X: y\r\n'.repeat(1001)}\r\n`).faults).toContain('head_too_large')
    expect(scan(`${from}X: ${'y'.repeat(200 * 1024)}\r\n\r\n`).faults).toEqual([])
  })

  test('a list of names in a signature is no second field', () => {
    const folded = 'DKIM-Signature: v=1; h=Date:\r\n From:\r\n To:Subject; b=x'
    expect(scan(mail(folded, 'From: a@b.example', 'To: c@d.example')).faults).toEqual([])
  })

  test.each([
    ['Sender', 'a@b.example'],
    ['Reply-To', 'a@b.example'],
    ['Cc', 'a@b.example'],
    ['In-Reply-To', '<a@b.example>'],
    ['References', '<a@b.example>'],
    ['Content-Transfer-Encoding', '7bit'],
  ])('may have one %s', (name, value) => {
    expect(scan(mail('From: a@b.example', `${name}: ${value}`)).faults).toEqual([])
    expect(scan(mail('From: a@b.example', `${name}: ${value}`, `${name} : ${value}`)).faults).toContain(
      'duplicate_header',
    )
  })

  test('keeps no verdict of others', () => {
    const head = scan(mail('Authentication-Results: us; dmarc=pass', 'Received-SPF: pass', 'From: a@b.example'))
    expect(head.fields.map(({ name }) => name)).toEqual(['from'])
  })
})

describe('what a mail is about', () => {
  test.each([
    ['=?utf-8?B?R3LDvMOfZQ==?=', 'Grüße'],
    ['=?iso-8859-1?Q?Gr=FC=DFe_an_alle?=', 'Grüße an alle'],
    ['=?utf-8?B?R3LD?= =?utf-8?B?vMOfZQ==?=', 'Grüße'],
    ['=?utf-8?Q?a?= =?iso-8859-1?Q?b?= c', 'ab c'],
    ['=?utf-8*de?Q?hallo?=', 'hallo'],
    ['=?no-such?Q?hallo?=', '=?no-such?Q?hallo?='],
    ['=?utf-7?Q?+ADw-?=', '<'],
    ['=?iso-2022-jp?B?GyRCRnxLXBsoQg==?=', '日本'],
    ['a\u202eb\u200bc\u{e0041}', 'abc'],
    ['x'.repeat(1000), 'x'.repeat(400)],
  ])('%j is read as it is meant', (written, read) => {
    expect(scanDraft([`Subject: ${written}`]).subject).toBe(read)
  })
})

describe('the ids of a mail', () => {
  test('are read where they are well formed', () => {
    const head = scanDraft([
      'Message-ID: <a.b+c@host.example>',
      'In-Reply-To: "Bob\'s letter" <one@x.example>',
      'References: <one@x.example>\r\n <two@x.example> garbage <three> <f@o@ur>',
    ])
    expect([head.messageId, head.inReplyTo, head.references]).toEqual([
      'a.b+c@host.example',
      ['one@x.example'],
      ['one@x.example', 'two@x.example'],
    ])
  })

  test.each([
    'one@x.example',
    '<one>',
    '<a b@x.example>',
    '<a@x.example> <b@x.example>',
    `<${'a'.repeat(300)}@x.example>`,
  ])('Message-ID %s is none', (value) => {
    expect(scanDraft([`Message-ID: ${value}`]).messageId).toBeUndefined()
  })

  test('are the last hundred where there are more', () => {
    const many = Array.from({ length: 300 }, (_, at) => `<${at}@x.example>`).join('\r\n ')
    const { references } = scanDraft([`References: ${many}`])
    expect([references.length, references.at(-1)]).toEqual([100, '299@x.example'])
  })

  test('of Exchange share their first bytes in a thread', () => {
    const bytes = Buffer.from(Array.from({ length: 32 }, (_, at) => at + 200))
    const index = (length: number) =>
      scanDraft([`Thread-Index: ${bytes.subarray(0, length).toString('base64')}`]).threadIndex
    expect(index(22)).toBe(bytes.subarray(0, 22).toString('base64url'))
    expect(index(27)).toBe(index(22))
    expect([index(21), scanDraft(['Thread-Index: !!!']).threadIndex]).toEqual([undefined, undefined])
  })
})

describe('the date of a mail', () => {
  test.each([
    ['Tue, 17 Nov 2026 12:00:00 +0000', '2026-11-17T12:00:00.000Z'],
    ['17 Nov 2026 12:00 -0530', '2026-11-17T17:30:00.000Z'],
    ['Fri, 11 Jul 2003 21:00:37 -0700 (PDT)', '2003-07-12T04:00:37.000Z'],
    ['Fri, 11 Jul 03 21:00:37 EST', '2003-07-12T02:00:37.000Z'],
    ['31 Feb 2026 12:00:00 +0000', undefined],
    ['2026-11-17T12:00:00Z', undefined],
    ['17 Nov 2026 25:00:00 +0000', undefined],
    ['yesterday', undefined],
  ])('%s is %s', (written, read) => {
    expect(scanDraft([`Date: ${written}`]).date).toBe(read)
  })
})

describe('a subject', () => {
  const subject = (line: string, more: readonly string[] = ['Content-Type: text/plain']) =>
    scanHead(Buffer.from([`Subject: ${line}`, 'From: a@b.example', ...more, '', 'x'].join('\r\n'), 'latin1')).subject

  test.each([
    ['raw bytes of the charset that the body has', 'Fr\xf6sche', 'text/plain; charset=iso-8859-1', 'Frösche'],
    ['raw bytes of another one', '\xcf\xf0\xe8\xe2\xe5\xf2', 'text/plain; charset=windows-1251', 'Привет'],
    ['raw bytes and no charset', 'Caf\xe9 \x80 5', 'text/plain', 'Café € 5'],
    ['raw bytes, and a charset that there is none of', 'Caf\xe9', 'text/plain; charset=nonsense', 'Café'],
    ['UTF-8, whatever the body is', 'Fr\xc3\xb6sche', 'text/plain; charset=iso-8859-1', 'Frösche'],
    ['raw bytes in an encoded word', '=?iso-8859-1?Q?Fr\xf6sche=20\xa0hier?=', 'text/plain', 'Frösche hier'],
    ['both', 'Fr\xf6sche =?utf-8?Q?=C3=B6?= \xe4', 'text/plain', 'Frösche ö ä'],
    ['UTF-7 in an encoded word', '=?UTF-7?Q?Fr+APY-sche?=', 'text/plain', 'Frösche'],
    ['UTF-7 over two encoded words', '=?utf-7?B?RnIrQVBZLXM=?= =?utf-7?B?Y2hl?=', 'text/plain', 'Frösche'],
    ['what only looks like UTF-7', 'C++ and a+b-c', 'text/plain; charset=utf-7', 'C++ and a+b-c'],
  ])('with %s is read', (_, line, type, expected) => {
    expect(subject(line, [`Content-Type: ${type}`])).toBe(expected)
  })

  test('has the charset of the first part, where the body is parts', () => {
    const part = '--b\r\nContent-Type: text/plain;\r\n\tcharset="windows-1251"\r\n\r\nx'
    expect(subject('\xcf\xf0\xe8\xe2\xe5\xf2', ['Content-Type: multipart/mixed; boundary=b', '', part])).toBe('Привет')
  })

  test('keeps no line break that was hidden in UTF-7', () => {
    expect(subject('=?utf-7?Q?a+AA0ACg-Bcc:_x?=')).toBe('a Bcc: x')
  })
})

describe('whatever the bytes are', () => {
  test('a head is read without failing', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2000 }), (bytes) => {
        const head = scanHead(bytes)
        expect(head.bodyStart).toBeLessThanOrEqual(bytes.length)
      }),
    )
  })

  test('a From of any letters gives an address with one domain, or none', () => {
    const letters = fc.constantFrom(
      'a',
      '@',
      '<',
      '>',
      '"',
      '\\',
      '(',
      ')',
      ',',
      ':',
      ';',
      '.',
      ' ',
      '=?',
      '\t',
      'é',
      '[',
      ']',
    )
    fc.assert(
      fc.property(fc.array(letters, { maxLength: 40 }), (parts) => {
        const from = scan(mail(`From: ${parts.join('')}`)).from
        if (from === undefined) return
        expect(from.address.endsWith(`@${from.domain}`)).toBe(true)
        expect(from.address.slice(0, -from.domain.length - 1)).not.toMatch(/[@<>,;:()[\]\\]/)
      }),
      { numRuns: scaled(2000) },
    )
  })

  test.each([
    ['open brackets', '('],
    ['open quotes', '"a\\"'],
    ['angles', '<a@b'],
    ['commas', 'a@b.example,'],
    ['encoded words', '=?utf-8?q?a?= '],
    ['openings of encoded words', '=?a?q?'],
    ['shifts of UTF-7', '=?utf-7?q?+AGE-+?= '],
    ['raw bytes', '\xff=?a?q?\xff'],
    ['blanks', ' '],
    ['ids', '<a@b.example>'],
    ['openings of ids', '<a'],
  ])('%s take time in proportion', (_, piece) => {
    const headOf = (size: number) => {
      const value = piece.repeat(size / piece.length)
      const fields = ['From', 'To', 'Subject', 'References', 'Message-ID', 'Date', 'Thread-Index'].map(
        (name) => `${name}: ${value}x`,
      )
      return Buffer.from(mail(...fields), 'latin1')
    }
    const [half, whole] = [headOf(16_000), headOf(32_000)]
    expect(
      isLinear(
        () => scanHead(half),
        () => scanHead(whole),
      ),
    ).toBe(true)
  })
})
