// Leases that have run out are left alone for a while after the database was away.
import { expect, test } from 'vitest'
import { createDatabaseGapTracker } from '../../../src/db/lease-takeover.ts'

const policy = { leaseMs: 30_000, pollMs: 1_000 }

test('nothing is known before the first answer, so everything may be taken over', () => {
  expect(createDatabaseGapTracker(policy).lastSeen()).toBe(null)
})

test('while the database answers, claims carry when it did last', () => {
  const takeOver = createDatabaseGapTracker(policy)
  for (const at of [1_000, 2_000, 3_000]) takeOver.seen(at)
  expect(takeOver.lastSeen()).toBe(3_000)
})

test('after a gap nobody takes over until holders had half a lease to come back', () => {
  const takeOver = createDatabaseGapTracker(policy)
  takeOver.seen(1_000)
  takeOver.seen(41_000)
  expect(takeOver.lastSeen()).toBe(0)
  for (let at = 42_000; at < 56_000; at += 1_000) takeOver.seen(at)
  expect(takeOver.lastSeen()).toBe(0)
  takeOver.seen(56_000)
  expect(takeOver.lastSeen()).toBe(56_000)
})

test('a pause that no lease could run out in is no gap', () => {
  const takeOver = createDatabaseGapTracker(policy)
  takeOver.seen(1_000)
  takeOver.seen(8_000)
  expect(takeOver.lastSeen()).toBe(8_000)
})

test('answers that overtake each other are no gap, and a clock that was set back is followed', () => {
  const takeOver = createDatabaseGapTracker(policy)
  takeOver.seen(10_000)
  takeOver.seen(9_000)
  expect(takeOver.lastSeen()).toBe(10_000)
  takeOver.seen(-3_600_000)
  expect(takeOver.lastSeen()).toBe(-3_600_000)
})

test('a database that is seldom asked is not taken for one that is away', () => {
  const { gapMs } = createDatabaseGapTracker({ leaseMs: 3_000, pollMs: 5_000 })
  expect(gapMs).toBe(15_000)
})
