// Rules for payloads: what fits is read, what does not is said so, and nothing is guessed.
import { expect, test } from 'vitest'
import * as rules from '../../../src/lib/index.ts'

const { misfit, readWire } = rules

test('fields are read by their rules, and others are left out or kept as asked', () => {
  const shape = { id: rules.wireStringMatching(/^[A-Z]+$/), size: rules.wireOptional(rules.wireInteger(0, 9)) }
  const value = { id: 'A', size: 3, other: 1 }
  expect(readWire(rules.wireObject(shape), value)).toEqual({ id: 'A', size: 3 })
  expect(readWire(rules.wireLooseObject(shape), value)).toEqual(value)
  expect(readWire(rules.wireLooseObject(shape), value)).not.toBe(value)
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
  expect(readWire(rule, value)).toBe(misfit)
})

test('what may be null is as if it were not there; what is only shown may be anything', () => {
  const rule = rules.wireLooseObject({
    given: rules.wireNullish(rules.wireString),
    shown: rules.wireLenient(rules.wireBoolean),
  })
  expect(readWire(rule, { given: null, shown: 'yes' })).toEqual({ given: undefined, shown: undefined })
  expect(Object.keys(Object(readWire(rule, {})))).toEqual([])
  expect(readWire(rule, { given: 1 })).toBe(misfit)
})

test('one bad item makes a list unreadable, and too many of them', () => {
  const rule = rules.wireArray(rules.wireMapped(rules.wireInteger(), String), 2)
  expect([
    readWire(rule, [1, 2]),
    readWire(rule, [1, '2']),
    readWire(rule, [1, 2, 3]),
    readWire(rule, { 0: 1 }),
  ]).toEqual([['1', '2'], misfit, misfit, misfit])
})

test('words, lengths and what stands for a missing field', () => {
  const word = rules.wireEnum('new', 'edit')
  expect([
    readWire(word, 'edit'),
    readWire(word, 'other'),
    readWire(rules.wireStringOfLength(1, 2), 'abc'),
    readWire(rules.wireStringOfLength(1, 2), ''),
  ]).toEqual(['edit', misfit, misfit, misfit])
  expect([
    readWire(rules.wireDefault(rules.wireString, 'x'), undefined),
    readWire(rules.wireDefault(rules.wireString, 'x'), null),
  ]).toEqual(['x', misfit])
})
