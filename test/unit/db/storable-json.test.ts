// What PostgreSQL cannot store is cleaned away, and nothing else is touched.
import { expect, test } from 'vitest'
import { storableJson } from '../../../src/db/client.ts'

test.each([
  ['NUL', 'a\u0000b', 'ab'],
  ['half a surrogate pair', 'a\ud800b', 'a\ufffdb'],
  ['a whole pair', 'a\u{1f600}b', 'a\u{1f600}b'],
  ['the letters of an escape', 'a\\u0000b', 'a\\u0000b'],
  ['letters that Unicode can also compose', 'e\u0301', 'e\u0301'],
])('%s', (_name, given, stored) => {
  expect(JSON.parse(storableJson({ deep: [{ text: given }] }))).toEqual({ deep: [{ text: stored }] })
})

test('nothing becomes null', () => {
  expect(storableJson(undefined)).toBe('null')
})
