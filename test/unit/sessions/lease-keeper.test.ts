// Leases: valid by our own clock, renewed together, and gone for good once they are lost (ruling 17).
import { afterEach, expect, test } from 'vitest'
import { createLeaseKeeper, type LeaseKeeper } from '../../../src/sessions/lease-keeper.ts'
import type { Hold } from '../../../src/sessions/turn-store.ts'

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
  keeper = createLeaseKeeper({ turns: { renew }, leaseMs: options.leaseMs, monotonicMs, log: quiet })
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

test('a lease that cannot be renewed ends by itself, before it ends for others', async () => {
  const started = performance.now()
  const renewed = () => {
    throw new Error('database down')
  }
  const lease = start({ leaseMs: 8_000, renewed }).keep(hold, started)
  await aborted(lease.signal)
  expect(performance.now() - started).toBeLessThan(8_000)
})

test('a process that slept past its lease finds it gone before it does anything', () => {
  let now = 0
  const lease = start({ leaseMs: 30_000, now: () => now }).keep(hold, 0)
  now = 40_000
  expect(() => lease.assertHeld()).toThrow('moved on')
})
