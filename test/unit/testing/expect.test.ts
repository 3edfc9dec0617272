// The kit's own assertions refuse what they should: a kit that cannot fail proves nothing.
import { describe, test, expect as vitest } from 'vitest'
import { expect } from '../../../src/testing/expect.ts'

const throws = () => {
  throw new Error('[pigeon] no key')
}

describe('assertions of the adapter kit', () => {
  test.for<[string, () => void]>([
    ['equal lists', () => expect([1, { a: undefined }]).toEqual([1, {}])],
    ['any string', () => expect({ id: 'x' }).toEqual({ id: expect.any(String) })],
    ['a part of an object', () => expect({ a: 1, b: { c: 2, d: 3 } }).toMatchObject({ b: { c: 2 } })],
    ['words of an error', () => expect(throws).toThrow('[pigeon]')],
    ['no error', () => expect(() => 1).not.toThrow()],
    ['bytes', () => expect(new Uint8Array([1])).toEqual(new Uint8Array([1]))],
  ])('let pass: %s', ([, run]) => vitest(run).not.toThrow())

  test.for<[string, () => void]>([
    ['another value', () => expect(1).toBe(2)],
    ['a longer list', () => expect([1, 2]).toMatchObject([1])],
    ['one property more', () => expect({ a: 1, b: 2 }).toEqual({ a: 1 })],
    ['a missing property', () => expect({}).toMatchObject({ a: 1 })],
    ['no string', () => expect({ id: 7 }).toEqual({ id: expect.any(String) })],
    ['other bytes', () => expect(new Uint8Array([1])).toEqual(new Uint8Array([2]))],
    ['other words', () => expect(throws).toThrow('[sparrow]')],
    ['no error where there should be one', () => expect(() => 1).toThrow()],
    ['an error where there should be none', () => expect(throws).not.toThrow()],
    ['what should not be there', () => expect('a secret').not.toContain('secret')],
    ['a value where there should be none', () => expect(0).toBeUndefined()],
    ['what is never reached', () => expect.unreachable('here')],
  ])('refuse: %s', ([, run]) => vitest(run).toThrow())
})
