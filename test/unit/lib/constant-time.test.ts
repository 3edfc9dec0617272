// Comparing secrets: right only when every unit is right.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { equalInConstantTime } from '../../../src/lib/index.ts'

test('the comparison of secrets is true exactly when the strings are equal', () => {
  fc.assert(fc.property(fc.string(), fc.string(), (a, b) => equalInConstantTime(a, b) === (a === b)))
  fc.assert(fc.property(fc.string(), (a) => equalInConstantTime(a, a)))
})

test.each([
  ['', 'a'],
  ['a', ''],
  ['secret', 'secret\u0000'],
  ['secret', 'secre'],
  ['secret', 'Secret'],
])('the comparison of secrets refuses %j for %j', (given, expected) => {
  expect(equalInConstantTime(given, expected)).toBe(false)
})
