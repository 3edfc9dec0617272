// Leases of the lanes this process holds: renewed together, and known by our own clock to be valid.
//
//   held      renewed a short while ago: effects may begin
//   expired   not renewed in time, because the database was away or this process was frozen; the lane may still be ours, nothing begins
//             until it is renewed under the same epoch, and what is in hand is kept
//   lost      the database says that another epoch has the lane: what runs under it stops

import type { Hold } from '../db/turn-rows.ts'
import { GatewayError } from '../lib/errors.ts'
import { errorLogFields, type Log } from '../lib/log.ts'

export type Lease = {
  /** Aborts when the lease is lost; effects in flight must stop then. */
  readonly signal: AbortSignal
  /** Whether the lease is safely ours, by our own clock. */
  readonly isHeld: () => boolean
  /** Throws unless it is. Called right before every effect. */
  readonly assertHeld: () => void
  /** Resolves when it is, at once or after a renewal; rejects when it is lost or ended. Waited for before an effect begins. */
  readonly untilHeld: () => Promise<void>
  readonly end: () => void
}

export type LeaseKeeper = {
  readonly keep: (hold: Hold, claimedAt: number) => Lease
  /** Milliseconds since leases were last renewed, or since it was seen that there are none. */
  readonly ageMs: () => number
  readonly stop: () => void
}

export type LeaseKeeperDeps = {
  /** Renews these holds together; answers whose are still ours. */
  readonly renew: (holds: readonly Hold[]) => Promise<ReadonlySet<string>>
  readonly leaseMs: number
  /** Milliseconds that never run backwards and go on while the process is stopped. */
  readonly monotonicMs: () => number
  readonly log: Log
}

type HeldLease = {
  readonly hold: Hold
  readonly abort: AbortController
  renewedAt: number
  /** Those who wait for a renewal. */
  waiting: PromiseWithResolvers<void>[]
}

type HeldLeases = {
  readonly all: Map<string, HeldLease>
  readonly isSafe: (entry: HeldLease) => boolean
}

export function createLeaseKeeper(deps: LeaseKeeperDeps): LeaseKeeper {
  const { leaseMs, monotonicMs } = deps
  // Stop early: what we start now must be over before another process may take the lane over.
  const safeMs = leaseMs * 0.6
  const isLeaseSafe = (entry: HeldLease): boolean =>
    !entry.abort.signal.aborted && monotonicMs() - entry.renewedAt < safeMs
  const all = new Map<string, HeldLease>()
  const renewals = startRenewals(deps, { all, isSafe: isLeaseSafe })
  return {
    keep(hold, claimedAt) {
      const entry: HeldLease = { hold, abort: new AbortController(), renewedAt: claimedAt, waiting: [] }
      // Claimed anew by this very process: the hold before it is over.
      const before = all.get(hold.conversationId)
      if (before !== undefined) markLeaseLost(all, before)
      all.set(hold.conversationId, entry)
      return {
        signal: entry.abort.signal,
        isHeld: () => isLeaseSafe(entry),
        assertHeld() {
          if (!isLeaseSafe(entry)) throw leaseLostError()
        },
        async untilHeld() {
          if (isLeaseSafe(entry)) return
          if (all.get(hold.conversationId) !== entry) throw leaseLostError()
          const waiting = Promise.withResolvers<void>()
          entry.waiting.push(waiting)
          renewals.soon()
          await waiting.promise
        },
        end() {
          if (all.get(hold.conversationId) === entry) all.delete(hold.conversationId)
          rejectLeaseWaiters(entry)
        },
      }
    },
    ageMs: renewals.ageMs,
    stop() {
      renewals.stop()
      const left = [...all.values()]
      all.clear()
      for (const entry of left) rejectLeaseWaiters(entry)
    },
  }
}

type Renewals = Pick<LeaseKeeper, 'ageMs' | 'stop'> & {
  /** A step waits: asks before the next quarter of a lease is over. */
  readonly soon: () => void
}

/** A connection that hangs must not keep the others from renewing; more than this would only pile up. */
const maxRounds = 4

function startRenewals({ renew, leaseMs, monotonicMs, log }: LeaseKeeperDeps, { all, isSafe }: HeldLeases): Renewals {
  let lastRound = monotonicMs()
  let rounds = 0
  let retry: ReturnType<typeof setTimeout> | undefined
  const renewLeases = async (): Promise<void> => {
    const asked = [...all.values()]
    const askedAt = monotonicMs()
    const held = await renew(asked.map((entry) => entry.hold))
    lastRound = monotonicMs()
    for (const entry of asked) {
      if (all.get(entry.hold.conversationId) !== entry) continue
      if (!held.has(entry.hold.conversationId)) markLeaseLost(all, entry)
      else {
        entry.renewedAt = Math.max(entry.renewedAt, askedAt)
        if (isSafe(entry)) resolveLeaseWaiters(entry)
      }
    }
  }
  const runRenewalRound = async (isRetry: boolean): Promise<void> => {
    if (all.size === 0) lastRound = monotonicMs()
    if (all.size === 0 || rounds >= maxRounds) return
    rounds += 1
    try {
      await renewLeases()
    } catch (error) {
      if (!isRetry) log.warn('lease_renewal_failed', { ...errorLogFields(error, 'internal'), held: all.size })
    } finally {
      rounds -= 1
    }
    if ([...all.values()].some((entry) => !isSafe(entry))) retryRenewalSoon()
  }
  const retryRenewalSoon = (): void => {
    retry ??= setTimeout(
      () => {
        retry = undefined
        void runRenewalRound(true)
      },
      Math.min(1_000, leaseMs / 16),
    )
  }
  const timer = setInterval(() => void runRenewalRound(false), leaseMs / 4)
  return {
    soon: retryRenewalSoon,
    ageMs: () => monotonicMs() - lastRound,
    stop() {
      clearInterval(timer)
      clearTimeout(retry)
    },
  }
}

function markLeaseLost(all: Map<string, HeldLease>, entry: HeldLease): void {
  if (all.get(entry.hold.conversationId) === entry) all.delete(entry.hold.conversationId)
  entry.abort.abort(leaseLostError())
  rejectLeaseWaiters(entry)
}

function resolveLeaseWaiters(entry: HeldLease): void {
  const waiting = entry.waiting
  entry.waiting = []
  for (const each of waiting) each.resolve()
}

function rejectLeaseWaiters(entry: HeldLease): void {
  const waiting = entry.waiting
  entry.waiting = []
  for (const each of waiting) each.reject(leaseLostError())
}

function leaseLostError(): GatewayError {
  return new GatewayError('lease_lost', '[sessions] the lane has moved on to another holder; this turn stops here')
}
