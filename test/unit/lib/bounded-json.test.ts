// Reading JSON within limits.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseBoundedJson } from '../../../src/lib/index.ts'

const bytes = (text: string) => new TextEncoder().encode(text)
const nested = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`

test('the JSON reader reads any object that is not too deep', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
      const text = JSON.stringify(value)
      expect(parseBoundedJson(bytes(text))).toEqual({ ok: true, value: JSON.parse(text) })
    }),
  )
})

test.each<[string, Uint8Array, string]>([
  ['bytes that are not UTF-8', new Uint8Array([0x7b, 0xff, 0x7d]), 'invalid_utf8'],
  ['half a surrogate pair in UTF-8', new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22]), 'invalid_utf8'],
  ['an unfinished object', bytes('{"a":1'), 'invalid_json'],
  ['nothing', bytes(''), 'invalid_json'],
  ['65 levels', bytes(nested(65)), 'too_deep'],
  ['a million levels without an end', bytes('['.repeat(1_000_000)), 'too_deep'],
  ['a list', bytes('[1]'), 'not_an_object'],
  ['null', bytes('null'), 'not_an_object'],
  ['a string', bytes('"x"'), 'not_an_object'],
])('the JSON reader refuses %s', (_name, given, reason) => {
  expect(parseBoundedJson(given)).toEqual({ ok: false, reason })
})

test('the JSON reader takes 64 levels, and does not count brackets inside strings', () => {
  expect(parseBoundedJson(bytes(nested(64))).ok).toBe(true)
  expect(parseBoundedJson(bytes(JSON.stringify({ a: `\\"${'[{'.repeat(100)}` }))).ok).toBe(true)
})
