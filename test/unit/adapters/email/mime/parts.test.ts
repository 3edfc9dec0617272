// A file taken out of its mail again: the bytes that were sent, as a stream, whatever the mail is read from.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openMimePart } from '../../../../../adapters/email/mime/files.ts'
import { parseMailBody } from '../../../../../adapters/email/mime/parse-body.ts'
import { findHeadEnd } from '../../../../../adapters/email/mime/part-head.ts'
import { file, mail, multipart, text } from '../../../../conformance/email/build-mail.ts'
import { scaled } from '../../../../setup/scale.ts'

const bytes = Uint8Array.from({ length: 200_000 }, (_, at) => (at * 7) % 256)
const raw = mail(multipart('mixed', [text('See it.'), file('a.bin', 'application/x-a', bytes), file('../b.pdf')]))

const read = async (stream: ReadableStream<Uint8Array> | undefined): Promise<Uint8Array> =>
  new Uint8Array(await new Response(stream).arrayBuffer())

describe('a part is opened', () => {
  test('with its bytes, its name, its type and its size', async () => {
    const part = await openMimePart(raw, 1)
    expect({ ...part, body: await read(part?.body) }).toEqual({
      body: bytes,
      mime: 'application/x-a',
      name: 'a.bin',
      size: bytes.length,
    })
  })

  test('under the same safe name that the mail was read with', async () => {
    expect((await openMimePart(raw, 2))?.name).toBe('b.pdf')
  })

  test('from a stream in small pieces', async () => {
    let at = 0
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(raw.subarray(at, at + 999))
        at += 999
        if (at >= raw.length) controller.close()
      },
    })
    const part = await openMimePart(stream, 1)
    expect(await read(part?.body)).toEqual(bytes)
  })

  test('and left before its end without anything hanging', async () => {
    const reader = (await openMimePart(raw, 1))?.body.getReader()
    await reader?.read()
    await reader?.cancel()
    expect(await reader?.closed).toBeUndefined()
  })

  test.each([-1, 3, 1.5, Number.NaN])('not where there is none: %d', async (index) => {
    expect(await openMimePart(raw, index)).toBeUndefined()
  })

  test('not from more bytes than a mail may have', async () => {
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(1024 * 1024)),
    })
    expect(await openMimePart(endless, 0)).toBeUndefined()
  })
})

describe('any bytes at all', () => {
  const head = fc.constantFrom(
    'text/plain',
    'text/html',
    'multipart/mixed; boundary=b',
    'multipart/alternative; boundary=b',
  )
  const piece = fc.oneof(
    fc.constantFrom(
      '\r\n',
      '\n',
      '--b\r\n',
      '--b--\r\n',
      '--c\n',
      'Content-Type: text/html\r\n',
      '=\r\n',
      '=C3',
      '> q\n',
    ),
    fc.constantFrom(
      'Content-Type: multipart/mixed; boundary=c\r\n\r\n',
      'Content-Transfer-Encoding: base64\r\n',
      'aGk=',
    ),
    fc.string({ unit: 'binary', maxLength: 20 }),
  )

  test('are read or refused, and every file has the size it says', async () => {
    await fc.assert(
      fc.asyncProperty(head, fc.array(piece, { maxLength: 30 }), async (type, pieces) => {
        const given = new TextEncoder().encode(`Content-Type: ${type}\r\n\r\n${pieces.join('')}`)
        const start = { bodyStart: findHeadEnd(given, 0, given.length).bodyStart }
        const body = await parseMailBody(given, start)
        for (const { index, size, name } of 'kind' in body ? [] : body.files) {
          const part = await openMimePart(given, index)
          expect({ size: (await read(part?.body)).length, name: part?.name }).toEqual({ size, name })
        }
      }),
      { numRuns: scaled(300) },
    )
  })
})
