// Slots: how many one agent and one connection may hold, and since when none is free.
import { expect, test } from 'vitest'
import { chooseSlotShares, createSlots } from '../../../src/turns/worker-loop.ts'

const policy = { slots: 64, reservedSlots: 8 }
const several = { agents: 2, connections: 3 }

test.each([
  ['several of both', several, { agent: 56, connection: 56, pair: 48 }],
  ['one agent on several connections', { agents: 1, connections: 3 }, { agent: 64, connection: 56, pair: 56 }],
  ['several agents on one connection', { agents: 2, connections: 1 }, { agent: 56, connection: 64, pair: 56 }],
  ['nobody else', { agents: 1, connections: 1 }, { agent: 64, connection: 64, pair: 64 }],
])('slots leave a reserve where there are %s', (_name, count, shares) => {
  expect(chooseSlotShares(policy, count)).toEqual(shares)
})

test('slots leave at least one to every agent and connection, however large the reserve', () => {
  expect(chooseSlotShares({ slots: 4, reservedSlots: 8 }, several)).toEqual({ agent: 1, connection: 1, pair: 1 })
})

test('slots are never promised beyond a share, and whose share is used up is named', () => {
  const slots = createSlots(8, { agent: 6, connection: 6, pair: 4 }, () => 0)
  const nobody = { agents: [], connections: [], pairs: [] }
  expect(slots.room(8)).toEqual({ limit: 4, full: nobody })
  for (let n = 0; n < 3; n += 1) slots.take({ agent: 'a', connection: 'x' })
  expect(slots.room(5)).toEqual({ limit: 1, full: nobody })
  const leave = slots.take({ agent: 'a', connection: 'x' })
  expect(slots.room(4)).toEqual({ limit: 2, full: { ...nobody, pairs: ['x a'] } })
  slots.take({ agent: 'a', connection: 'y' })
  slots.take({ agent: 'a', connection: 'y' })
  expect(slots.room(2)).toEqual({ limit: 2, full: { ...nobody, agents: ['a'], pairs: ['x a'] } })
  slots.take({ agent: 'b', connection: 'x' })
  slots.take({ agent: 'b', connection: 'x' })
  expect(slots.room(2).full).toEqual({ agents: ['a'], connections: ['x'], pairs: ['x a'] })
  leave()
  leave()
  expect(slots.room(1)).toEqual({ limit: 1, full: nobody })
  expect(slots.use()).toMatchObject({ slots: 8, used: 7 })
})

test('slots are full since the last of them was taken, and no longer once one was free', () => {
  let now = 0
  const slots = createSlots(2, { agent: 2, connection: 2, pair: 2 }, () => now)
  const leave = slots.take({ agent: 'a', connection: 'x' })
  now = 100
  const leaveB = slots.take({ agent: 'b', connection: 'x' })
  now = 5_100
  expect(slots.use()).toEqual({
    slots: 2,
    used: 2,
    fullMs: 5_000,
    holders: [
      { agent: 'a', connection: 'x', used: 1, oldestMs: 5_100, fullMs: 5_000 },
      { agent: 'b', connection: 'x', used: 1, oldestMs: 5_000, fullMs: 5_000 },
    ],
  })
  // A command beside the slots comes and goes, and frees none of them.
  slots.take({ agent: 'a', connection: 'x' })()
  expect(slots.use().fullMs).toBe(5_000)
  leave()
  expect(slots.use()).toMatchObject({ used: 1, fullMs: null, holders: [{ agent: 'b' }] })
  slots.take({ agent: 'a', connection: 'x' })
  expect(slots.use().fullMs).toBe(0)
  leaveB()
})
