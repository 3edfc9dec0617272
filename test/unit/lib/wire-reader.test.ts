// Rules for payloads: what fits is read, what does not is said so, and nothing is guessed.
import { expect, test } from 'vitest'
import * as rules from '../../../src/lib/index.ts'

const { misfit, readByWireRule } = rules

test('fields are read by their rules, and others are left out or kept as asked', () => {
  const shape = { id: rules.wireStringMatching(/^[A-Z]+$/), size: rules.wireOptional(rules.wireInteger(0, 9)) }
  const value = { id: 'A', size: 3, other: 1 }
  expect(readByWireRule(rules.wireObject(shape), value)).toEqual({ id: 'A', size: 3 })
  expect(readByWireRule(rules.wireLooseObject(shape), value)).toEqual(value)
  expect(readByWireRule(rules.wireLooseObject(shape), value)).not.toBe(value)
})

test.each([
  ['a field that must be there', { size: 1 }],
  ['a field of another kind', { id: 7 }],
  ['a field beyond its bounds', { id: 'A', size: 10 }],
  ['a number that is not whole', { id: 'A', size: 1.5 }],
  ['null where a field may only be left out', { id: 'A', size: null }],
  ['a list', ['A']],
  ['nothing', null],
])('%s does not fit', (_, value) => {
  const rule = rules.wireObject({ id: rules.wireString, size: rules.wireOptional(rules.wireInteger(0, 9)) })
  expect(readByWireRule(rule, value)).toBe(misfit)
})

test('what may be null is as if it were not there; what is only shown may be anything', () => {
  const rule = rules.wireLooseObject({
    given: rules.wireNullish(rules.wireString),
    shown: rules.wireLenient(rules.wireBoolean),
  })
  expect(readByWireRule(rule, { given: null, shown: 'yes' })).toEqual({ given: undefined, shown: undefined })
  expect(Object.keys(Object(readByWireRule(rule, {})))).toEqual([])
  expect(readByWireRule(rule, { given: 1 })).toBe(misfit)
})

test('one bad item makes a list unreadable, and too many of them', () => {
  const rule = rules.wireArray(rules.wireMapped(rules.wireInteger(), String), 2)
  expect([
    readByWireRule(rule, [1, 2]),
    readByWireRule(rule, [1, '2']),
    readByWireRule(rule, [1, 2, 3]),
    readByWireRule(rule, { 0: 1 }),
  ]).toEqual([['1', '2'], misfit, misfit, misfit])
})

test('words, lengths and what stands for a missing field', () => {
  const word = rules.wireEnum('new', 'edit')
  expect([
    readByWireRule(word, 'edit'),
    readByWireRule(word, 'other'),
    readByWireRule(rules.wireStringOfLength(1, 2), 'abc'),
    readByWireRule(rules.wireStringOfLength(1, 2), ''),
  ]).toEqual(['edit', misfit, misfit, misfit])
  expect([
    readByWireRule(rules.wireDefault(rules.wireString, 'x'), undefined),
    readByWireRule(rules.wireDefault(rules.wireString, 'x'), null),
  ]).toEqual(['x', misfit])
})
