// Forms with files, read as they flow: however the bytes are cut, the parts are the same, and nothing malformed is guessed at.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { formBoundary, parseHeaderParameters, readMultipart } from '../../../src/api/multipart.ts'
import { scaled } from '../../setup/scale.ts'

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

/** A body whose chunks end where `sizes` say, over and over. */
function chunked(bytes: Uint8Array, sizes: readonly number[]): ReadableStreamDefaultReader<Uint8Array> {
  let at = 0
  let turn = 0
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (at >= bytes.byteLength) return controller.close()
        const size = sizes[turn % sizes.length] ?? 1
        turn += 1
        controller.enqueue(bytes.slice(at, at + size))
        at += size
      },
    },
    { highWaterMark: 0 },
  )
  return stream.getReader()
}

type Read = { name: string; filename: string | undefined; contentType: string | undefined; bytes: Uint8Array }

async function partsOf(bytes: Uint8Array, boundary: string, sizes: readonly number[] = [65_536]): Promise<Read[]> {
  const form = readMultipart(chunked(bytes, sizes), boundary)
  const parts: Read[] = []
  for (let part = await form.next(); part !== undefined; part = await form.next()) {
    const { body, ...facts } = part
    parts.push({ ...facts, bytes: new Uint8Array(await new Response(body).arrayBuffer()) })
  }
  return parts
}

const wrapped = (content: string, boundary = 'b'): Uint8Array =>
  encode(
    `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n${content}\r\n--${boundary}--\r\n`,
  )

test('the multipart reader reads what the platform itself makes of a form, in order and byte for byte', async () => {
  const form = new FormData()
  form.append('threadId', 't 1')
  form.append('file', new Blob(['\r\n--x\r\n\u0000ü'], { type: 'image/png' }), 'kätz"chen.png')
  const response = new Response(form)
  const boundary = formBoundary(response.headers.get('content-type') ?? '')
  const parts = await partsOf(new Uint8Array(await response.arrayBuffer()), boundary ?? '', [7])
  expect(parts.map(({ bytes, ...facts }) => ({ ...facts, text: decode(bytes) }))).toEqual([
    { name: 'threadId', filename: undefined, contentType: undefined, text: 't 1' },
    { name: 'file', filename: 'kätz"chen.png', contentType: 'image/png', text: '\r\n--x\r\n\u0000ü' },
  ])
})

test('the multipart reader gives the same parts for every way to cut the bytes, also inside boundaries that are nearly there', async () => {
  // Made of what boundaries are made of: contents that begin like one and go on differently.
  const nearly = fc.array(fc.constantFrom('\r', '\n', '-', '\r\n', '\r\n--', '\r\n--b', '\r\n--bou', '--bound', 'x'), {
    maxLength: 30,
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(nearly, { minLength: 1, maxLength: 4 }),
      fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 }),
      async (contents, sizes) => {
        const texts = contents.map((pieces) => pieces.join('').replaceAll('\r\n--bound', '\r\n--boun '))
        const blocks = texts.map(
          (text, at) => `--bound\r\nContent-Disposition: form-data; name="p${at}"\r\n\r\n${text}\r\n`,
        )
        const bytes = encode(`${blocks.join('')}--bound--`)
        const parts = await partsOf(bytes, 'bound', sizes)
        expect(parts.map(({ name, bytes }) => [name, decode(bytes)])).toEqual(texts.map((text, at) => [`p${at}`, text]))
      },
    ),
    { numRuns: scaled(300) },
  )
})

test('the multipart reader passes over a preamble, an epilogue, blanks after a boundary and what is left of an unread part', async () => {
  const bytes = encode(
    'for old readers\r\n--b \t\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\r\n--b\r\ncontent-disposition: form-data; name="c"\r\n\r\n\r\n--b--\r\nthe end',
  )
  const form = readMultipart(chunked(bytes, [3]), 'b')
  expect((await form.next())?.name).toBe('a')
  const last = await form.next()
  expect([last?.name, await new Response(last?.body).text()]).toEqual(['c', ''])
  expect([await form.next(), await form.next()]).toEqual([undefined, undefined])
})

test.each([
  [
    'ends before its last boundary',
    encode('--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n1\r\n--b'),
    'ends too early',
  ],
  ['ends inside a part', encode('--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n1'), 'ends too early'],
  ['is empty', new Uint8Array(), 'ends too early'],
  ['has a longer boundary than it says', wrapped('x', 'bx'), 'followed by something else'],
  ['has no name', encode('--b\r\ncontent-type: text/plain\r\n\r\n1\r\n--b--'), 'no name'],
  ['has no header at all', encode('--b\r\n\r\n1\r\n--b--'), 'ends too early'],
  ['folds a header', encode('--b\r\ncontent-disposition: form-data;\r\n name="a"\r\n\r\n1\r\n--b--'), 'cannot be read'],
  [
    'says a header twice',
    encode(
      '--b\r\ncontent-disposition: form-data; name="a"\r\ncontent-disposition: form-data; name="b"\r\n\r\n1\r\n--b--',
    ),
    'cannot be read',
  ],
  [
    'says a parameter twice',
    encode('--b\r\ncontent-disposition: form-data; name="a"; name="b"\r\n\r\n1\r\n--b--'),
    'no name',
  ],
  [
    'encodes a part',
    encode('--b\r\ncontent-disposition: form-data; name="a"\r\ncontent-transfer-encoding: base64\r\n\r\nMQ==\r\n--b--'),
    'encoded',
  ],
  ['never begins', encode('x'.repeat(20_000)), 'does not begin'],
  ['has an endless header', encode(`--b\r\nx: ${'y'.repeat(20_000)}`), 'too long'],
  [
    'has very many parts',
    encode(`${'--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n\r\n'.repeat(33)}--b--`),
    'more than 32',
  ],
])('the multipart reader refuses a body that %s', async (_what, bytes, says) => {
  await expect(partsOf(bytes, 'b', [11])).rejects.toMatchObject({
    code: 'bad_request',
    message: expect.stringContaining(says),
  })
})

test('the multipart reader reads no further than it is asked to', async () => {
  let pulled = 0
  const endless = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        pulled += 1
        controller.enqueue(pulled === 1 ? wrapped('x'.repeat(1000)).slice(0, 500) : encode('x'.repeat(1000)))
      },
    },
    { highWaterMark: 0 },
  )
  const part = await readMultipart(endless.getReader(), 'b').next()
  const reader = part?.body.getReader()
  for (let turn = 0; turn < 10; turn += 1) await reader?.read()
  expect(pulled).toBeLessThan(15)
})

test.each([
  ['multipart/form-data; boundary=abc', 'abc'],
  ['Multipart/Form-Data; charset=utf-8; boundary="a b:c"', 'a b:c'],
  ['multipart/form-data; boundary=', undefined],
  ['multipart/form-data', undefined],
  ['multipart/mixed; boundary=abc', undefined],
  ['multipart/form-data; boundary=a; boundary=b', undefined],
  [`multipart/form-data; boundary=${'a'.repeat(71)}`, undefined],
  ['multipart/form-data; boundary="a\r\nb"', undefined],
  [undefined, undefined],
])('the multipart reader finds in %s the boundary %s', (type, boundary) => {
  expect(formBoundary(type)).toBe(boundary)
})

test('the multipart reader reads names as browsers, curl and old ones write them', () => {
  const named = (text: string) => parseHeaderParameters(text)?.parameters.get('filename')
  expect(named('form-data; filename="a\\"b.png"')).toBe('a"b.png')
  expect(named('form-data; filename="C:\\dir\\a.png"')).toBe('C:\\dir\\a.png')
  expect(named('form-data; name=x; filename=plain.txt;')).toBe('plain.txt')
  expect(named('form-data; filename="unfinished')).toBeUndefined()
})
