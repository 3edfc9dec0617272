// The canonical forms of a body, held against the library's own and against time.
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type BodyForm,
  canonicalizeBodyRelaxed,
  canonicalizeBodySimple,
  hashBody,
} from '../../../../../adapters/email/dkim/body-hash.ts'
import { libraryBodyHash } from '../../../../doubles/library-body-hash.ts'
import { cpuMs, isLinear } from '../../../../doubles/linear-time.ts'

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')
const megabyte = 1024 * 1024

describe('a body in its canonical form', () => {
  test.each([
    ['', '\r\n', ''],
    ['\r\n\r\n', '\r\n', ''],
    [' \t\r\n', ' \t\r\n', ''],
    ['a', 'a\r\n', 'a\r\n'],
    ['a \t b \r\n', 'a \t b \r\n', 'a b\r\n'],
    [' a\r\n\r\n\r\n', ' a\r\n', ' a\r\n'],
    ['a\n\nb\n\n', 'a\r\n\r\nb\r\n', 'a\r\n\r\nb\r\n'],
    ['a\r', 'a\r\r\n', 'a\r\r\n'],
    ['a \r\r\n', 'a \r\r\n', 'a \r\r\n'],
    ['a\r\n \r\n', 'a\r\n \r\n', 'a\r\n'],
  ])('%j is %j when simple and %j when relaxed', (body, simple, relaxed) => {
    expect(text(canonicalizeBodySimple(Buffer.from(body)))).toBe(simple)
    expect(text(canonicalizeBodyRelaxed(Buffer.from(body)))).toBe(relaxed)
  })

  test('has the hash that the library computes, whatever the body and whatever is covered of it', async () => {
    const pieces = fc.constantFrom('\r\n', '\n', '\r', ' ', '\t', 'a', 'b', '\u00e9', '--b', '.')
    const body = fc.array(pieces, { maxLength: 40 }).map((parts) => parts.join(''))
    const form = fc.record({
      canonicalization: fc.constantFrom('simple' as const, 'relaxed' as const),
      length: fc.option(fc.nat(50), { nil: undefined }),
    })
    await fc.assert(
      fc.asyncProperty(body, form, fc.integer({ min: 1, max: 9 }), async (given, wanted: BodyForm, pieceBytes) => {
        const bytes = Buffer.from(given)
        const [hash] = await hashBody(bytes, [wanted])
        expect(hash).toBe(await libraryBodyHash(bytes, wanted, pieceBytes))
      }),
      { numRuns: 500 },
    )
  })

  test('is made once for all that is asked of it', async () => {
    const body = Buffer.from('one\r\ntwo\r\n')
    const sha256 = (value: string): string => createHash('sha256').update(value).digest('base64')
    const forms: BodyForm[] = [undefined, 3, 0, 1000].map((length) => ({ canonicalization: 'relaxed', length }))
    expect(await hashBody(body, forms)).toEqual(['one\r\ntwo\r\n', 'one', '', 'one\r\ntwo\r\n'].map(sha256))
  })
})

describe('the work of it', () => {
  const shapes = ['x', ' ', 'a\n', 'a\t\r\n']
  test.each(shapes)('grows with a body of %j and no faster', (shape) => {
    const bodies = [4, 8, 16].map((size) => Buffer.alloc(size * megabyte, shape))
    const work = (at: number) => () => [
      canonicalizeBodyRelaxed(bodies[at] ?? Buffer.of()),
      canonicalizeBodySimple(bodies[at] ?? Buffer.of()),
    ]
    expect(isLinear(work(0), work(1))).toBe(true)
    expect(isLinear(work(1), work(2))).toBe(true)
    expect(cpuMs(work(2))).toBeLessThan(3000)
  })
})
