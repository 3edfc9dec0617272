// SHA-256 for short and long texts beside Node's.
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { sha256Hex } from '../../../src/lib/crypto.ts'

const expected = (bytes: string) => createHash('sha256').update(bytes).digest('hex')

describe('SHA-256', () => {
  test('of every length around a block, and of both ways to make it', async () => {
    for (const length of [...Array(300).keys(), 2047, 2048, 2049, 5000]) {
      const text = 'é7'.repeat(length).slice(0, length)
      expect(await sha256Hex(text)).toBe(expected(text))
    }
  })

  test('of any text', async () => {
    const text = fc.string({ unit: 'binary', maxLength: 3000 })
    await fc.assert(
      fc.asyncProperty(text, async (each) => {
        expect(await sha256Hex(each)).toBe(expected(each))
      }),
    )
  })
})
