// Leases: valid by our own clock, renewed together, and gone for good once another epoch has the lane.
import { afterEach, expect, test } from 'vitest'
import type { Hold } from '../../../src/db/turn-rows.ts'
import { createLeaseKeeper, type Lease, type LeaseKeeper } from '../../../src/turns/leases.ts'

const hold: Hold = { conversationId: 'c1', epoch: 1 }
const quiet = { info: () => {}, warn: () => {}, error: () => {} }
let keeper: LeaseKeeper | undefined

afterEach(() => keeper?.stop())

function start(options: {
  readonly leaseMs: number
  readonly renewed?: () => ReadonlySet<string>
  readonly now?: () => number
}): LeaseKeeper {
  const renew = async (): Promise<ReadonlySet<string>> => (options.renewed ?? (() => new Set(['c1'])))()
  const monotonicMs = options.now ?? (() => performance.now())
  keeper = createLeaseKeeper({ renew, leaseMs: options.leaseMs, monotonicMs, log: quiet })
  return keeper
}

const aborted = (signal: AbortSignal) =>
  new Promise<unknown>((resolve) => signal.addEventListener('abort', () => resolve(signal.reason), { once: true }))

test('a renewed lease stays ours well past its first length', async () => {
  const lease = start({ leaseMs: 2_000 }).keep(hold, performance.now())
  await new Promise((resolve) => setTimeout(resolve, 2_500))
  expect(() => lease.assertHeld()).not.toThrow()
  lease.end()
})

test('a lease that somebody else has taken aborts what runs under it', async () => {
  const lease = start({ leaseMs: 60, renewed: () => new Set() }).keep(hold, performance.now())
  expect(await aborted(lease.signal)).toMatchObject({ code: 'lease_lost' })
  expect(() => lease.assertHeld()).toThrow('moved on')
})

test('a lease that cannot be renewed lets nothing begin, before it ends for others, and breaks nothing off', async () => {
  const started = performance.now()
  const renewed = () => {
    throw new Error('database down')
  }
  const lease = start({ leaseMs: 1_000, renewed }).keep(hold, started)
  await expect.poll(lease.isHeld, { timeout: 1_000, interval: 10 }).toBe(false)
  expect(performance.now() - started).toBeLessThan(1_000)
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  expect(lease.signal.aborted).toBe(false)
  lease.end()
})

test('whoever waits for an expired lease goes on once it is renewed under the same epoch', async () => {
  let now = 0
  const lease = start({ leaseMs: 60, now: () => now }).keep(hold, 0)
  now = 100
  expect(lease.isHeld()).toBe(false)
  await lease.untilHeld()
  expect(lease.isHeld()).toBe(true)
  expect(lease.signal.aborted).toBe(false)
})

test.each<[string, (lease: Lease, keeper: LeaseKeeper) => void]>([
  ['another epoch has the lane', () => {}],
  ['this process claims it anew', (_lease, held) => void held.keep({ ...hold, epoch: 2 }, 100)],
  ['its turn ends', (lease) => lease.end()],
  ['the process stops', (_lease, held) => held.stop()],
])('whoever waits for an expired lease is turned away when %s', async (how, act) => {
  let now = 0
  const renewed = () => {
    if (how === 'another epoch has the lane') return new Set<string>()
    throw new Error('database down')
  }
  const held = start({ leaseMs: 60, renewed, now: () => now })
  const lease = held.keep(hold, 0)
  now = 100
  const waiting = lease.untilHeld()
  act(lease, held)
  await expect(waiting).rejects.toMatchObject({ code: 'lease_lost' })
  await expect(lease.untilHeld()).rejects.toMatchObject({ code: 'lease_lost' })
})

test('a process that slept past its lease finds it gone before it does anything', () => {
  let now = 0
  const lease = start({ leaseMs: 30_000, now: () => now }).keep(hold, 0)
  now = 40_000
  expect(() => lease.assertHeld()).toThrow('moved on')
})
