// Leases of the lanes this process holds: renewed together, and known by our own clock to be valid (ruling 17).
import { GatewayError, type Log } from '../contract/index.ts'
import type { Hold, TurnStore } from './turn-store.ts'

export type Lease = {
  /** Aborts when the lease is lost or about to run out; effects in flight must stop then. */
  readonly signal: AbortSignal
  /** Whether the lease is safely ours, by our own clock. */
  readonly isHeld: () => boolean
  /** Throws unless it is. Called right before every effect. */
  readonly assertHeld: () => void
  readonly end: () => void
}

export type LeaseKeeper = {
  readonly keep: (hold: Hold, claimedAt: number) => Lease
  /** Milliseconds since leases were last renewed, or since it was seen that there are none. */
  readonly ageMs: () => number
  readonly stop: () => void
}

export type LeaseKeeperDeps = {
  readonly turns: Pick<TurnStore, 'renew'>
  readonly leaseMs: number
  /** Milliseconds that never run backwards and go on while the process is stopped. */
  readonly monotonicMs: () => number
  readonly log: Log
}

type Kept = {
  readonly hold: Hold
  readonly abort: AbortController
  renewedAt: number
  expiry: ReturnType<typeof setTimeout>
}

export function createLeaseKeeper({ turns, leaseMs, monotonicMs, log }: LeaseKeeperDeps): LeaseKeeper {
  const kept = new Map<string, Kept>()
  // Stop early: what we start now must be over before anybody else may start.
  const safeMs = leaseMs * 0.6

  let lastRound = monotonicMs()

  const lose = (entry: Kept): void => {
    clearTimeout(entry.expiry)
    kept.delete(entry.hold.conversationId)
    entry.abort.abort(leaseLost())
  }
  const armExpiry = (entry: Kept): void => {
    clearTimeout(entry.expiry)
    const left = safeMs - (monotonicMs() - entry.renewedAt)
    entry.expiry = setTimeout(() => lose(entry), Math.max(0, left))
  }
  const renew = async (): Promise<void> => {
    const asked = [...kept.values()]
    const askedAt = monotonicMs()
    const held = await turns.renew(asked.map((entry) => entry.hold))
    lastRound = monotonicMs()
    for (const entry of asked) {
      if (kept.get(entry.hold.conversationId) !== entry) continue
      if (!held.has(entry.hold.conversationId)) lose(entry)
      else {
        entry.renewedAt = askedAt
        armExpiry(entry)
      }
    }
  }
  const timer = setInterval(() => {
    if (kept.size === 0) {
      lastRound = monotonicMs()
      return
    }
    renew().catch(() => log.warn('lease_renewal_failed', { held: kept.size }))
  }, leaseMs / 4)

  return {
    keep(hold, claimedAt) {
      const entry: Kept = { hold, abort: new AbortController(), renewedAt: claimedAt, expiry: setTimeout(() => {}, 0) }
      kept.set(hold.conversationId, entry)
      armExpiry(entry)
      const isHeld = (): boolean => {
        if (monotonicMs() - entry.renewedAt >= safeMs) lose(entry)
        return !entry.abort.signal.aborted
      }
      return {
        signal: entry.abort.signal,
        isHeld,
        assertHeld() {
          if (!isHeld()) throw leaseLost()
        },
        end() {
          clearTimeout(entry.expiry)
          if (kept.get(hold.conversationId) === entry) kept.delete(hold.conversationId)
        },
      }
    },
    ageMs: () => monotonicMs() - lastRound,
    stop() {
      clearInterval(timer)
      for (const entry of kept.values()) clearTimeout(entry.expiry)
      kept.clear()
    },
  }
}

function leaseLost(): GatewayError {
  return new GatewayError('lease_lost', '[sessions] the lane has moved on to another holder; this turn stops here')
}
