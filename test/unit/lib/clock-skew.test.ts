// A timestamp against our clock, both ways.
import { expect, test } from 'vitest'
import { checkClockSkew } from '../../../src/lib/index.ts'

const now = 1_000_000_000_000
const tolerance = { maxAgeMs: 300_000, maxAheadMs: 60_000 }

test.each<[string, number, string]>([
  ['now', now, 'fresh'],
  ['as old as allowed', now - 300_000, 'fresh'],
  ['a millisecond too old', now - 300_001, 'stale_timestamp'],
  ['as far ahead as allowed', now + 60_000, 'fresh'],
  ['a millisecond too far ahead', now + 60_001, 'future_timestamp'],
  ['no number', Number.NaN, 'malformed_request'],
  ['infinite', Number.POSITIVE_INFINITY, 'malformed_request'],
])('a timestamp that is %s is judged', (_name, timestamp, expected) => {
  expect(checkClockSkew(timestamp, now, tolerance)).toBe(expected)
})
