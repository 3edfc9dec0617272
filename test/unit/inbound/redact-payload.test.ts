// The stored copy of an original payload shows no credential and stays within bounds (msg NM-17, NM-18).
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sanitizeMessage } from '../../../src/inbound/accept.ts'
import { redactRaw } from '../../../src/inbound/stored-copy.ts'
import { aMessage } from '../../doubles/inbox-drafts.ts'
import { scaled } from '../../setup/scale.ts'

describe('NM-17 the stored payload', () => {
  test.each([
    ['a token field', { token: 'canary' }],
    ['a nested authorization header', { headers: { Authorization: 'Bearer canary-canary' } }],
    ['a bearer value under an innocent name', { note: 'use Bearer canary-canary please' }],
    ['a secret that is an object', { client_secret: { value: 'canary' } }],
    ['a signed link', { url: 'https://example.org/f?token=canary&x=1' }],
    ['a platform token in text', { text: 'xoxb-1234567890-canary' }],
    ['a token of our own', { text: `use parley_0123abcd_${'canary'.repeat(7)}x` }],
    ['a JSON web token', { any: `eyJhbGciOiJIUzI1NiJ9.eyJjYW5hcnkiOnRydWV9.canary` }],
  ])('hides %s', (_name, raw) => {
    expect(JSON.stringify(redactRaw(raw))).not.toContain('canary')
  })

  test('keeps what is no secret', () => {
    expect(redactRaw({ update_id: 1, message: { text: 'hello', max_tokens: 5 } })).toEqual({
      update_id: 1,
      message: { text: 'hello', max_tokens: 5 },
    })
  })

  test('bounds depth and size, and says what is missing', () => {
    let deep: unknown = 'end'
    for (let level = 0; level < 1_000; level += 1) deep = { a: deep }
    expect(JSON.stringify(redactRaw(deep))).toContain('nested too deep')
    expect(redactRaw({ text: 'x'.repeat(100_000) })).toMatchObject({ omitted: expect.any(String) })
  })

  test('measures exactly where it matters: one character more than fits is left out', () => {
    const around = JSON.stringify({ text: '' }).length
    const fitting = { text: '\u0001'.repeat(10_000) + 'x'.repeat(64 * 1024 - around - 60_000) }
    expect(JSON.stringify(fitting)).toHaveLength(64 * 1024)
    expect(redactRaw(fitting)).toEqual(fitting)
    expect(redactRaw({ text: `${fitting.text}x` })).toEqual({ omitted: expect.any(String), bytes: 64 * 1024 + 1 })
  })

  test('never calls a payload small that is not', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.integer({ min: 0, max: 3_000 }), (value, copies) => {
        const kept = redactRaw(Array.from({ length: copies }, () => value))
        expect('omitted' in kept || JSON.stringify(kept).length <= 64 * 1024).toBe(true)
      }),
      { numRuns: scaled(200) },
    )
  })

  test('drops NUL and half surrogate pairs, also from names of fields', () => {
    expect(redactRaw({ 'a\u0000': 'b\ud800' })).toEqual({ a: 'b\ufffd' })
  })
})

test('NM-18 an HTML part loses its script before it is stored', () => {
  const message = aMessage({
    parts: [{ kind: 'text', mime: 'text/html', content: '<p>hi<script>alert(1)</script></p>' }],
  })
  expect(sanitizeMessage(message).parts).toEqual([{ kind: 'text', mime: 'text/html', content: '<p>hi</p>' }])
})
