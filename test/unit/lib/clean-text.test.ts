// Text as it is kept: in one form, and made so in time that grows with its length.
import { describe, expect, test } from 'vitest'
import { cleanText } from '../../../src/lib/clean-text.ts'
import { isLinear } from '../../doubles/linear-time.ts'

describe('clean text', () => {
  test('is in one form, without NUL and halves of characters', () => {
    expect(cleanText('a\u0301\u0000\ud800')).toBe('\u00e1\ufffd')
  })

  test('keeps the marks of every script as they are', () => {
    const words = [
      '\u1ec7',
      '\u0939\u093f\u0928\u094d\u0926\u0940',
      '\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd',
      `a${'\u0301'.repeat(30)}`,
    ]
    expect(words.map(cleanText)).toEqual(words.map((word) => word.normalize('NFC')))
  })

  test.each([
    ['of two kinds', '\u0316\u0301'],
    ['of three kinds', '\u0301\u0316\u0345'],
    ['that are two each', '\u0316\u0344'],
    ['with separators among them', `${'\u0316\u0301'.repeat(40)}\u034f`],
  ])('is made in time that grows with its length, however many marks %s stand upon one letter', (_, unit) => {
    const text = (length: number) => `a${unit.repeat(Math.floor(length / unit.length))}`
    const [half, whole] = [text(100_000), text(200_000)]
    expect(
      isLinear(
        () => cleanText(half),
        () => cleanText(whole),
      ),
    ).toBe(true)
    expect(cleanText(cleanText(whole)).length).toBeLessThan(whole.length * 2.2)
  })

  test('is the same when it is cleaned again', () => {
    const once = cleanText(`a${'\u0316\u0301'.repeat(100)}b`)
    expect(cleanText(once)).toBe(once)
  })
})
