// Stores the results of steps, turns and deliveries, retrying until it succeeds. That the own lease has run out meanwhile
// does not end this: every such write is fenced by its epoch, and answers by itself when another holder has taken over.

import type { StoreWithRetry } from '../contract/store-result.ts'
import { isGatewayError } from '../lib/errors.ts'
import { errorLogFields, type Log, type LogFields } from '../lib/log.ts'
import { sleep } from '../lib/time.ts'
import { backoffMs } from '../outbound/settle.ts'

export type ResultKeeper = {
  readonly store: StoreWithRetry
  /** The time to stop has come: says what is not stored, and tries no more. */
  readonly giveUp: () => void
}

export type ResultKeeperDeps = {
  readonly log: Log
  readonly random: () => number
  readonly leaseMs: number
}

export function createResultWriteRetrier({ log, random, leaseMs }: ResultKeeperDeps): ResultKeeper {
  const over = new AbortController()
  const inHand = new Set<LogFields>()
  // Well within the time that others leave a holder to come back after an outage.
  const backoff = { firstMs: 50, maxMs: Math.min(1_000, leaseMs / 16) }
  return {
    async store(what, write) {
      if (what !== undefined) inHand.add(what)
      try {
        for (let tries = 1; ; tries += 1) {
          try {
            return await write(tries > 1)
          } catch (error) {
            if (!isGatewayError(error, 'storage_unavailable') || over.signal.aborted) throw error
            if (tries === 1 && what !== undefined)
              log.warn('result_waits', { ...what, ...errorLogFields(error, 'internal') })
          }
          await sleep(backoffMs(tries, backoff, random), over.signal)
        }
      } finally {
        if (what !== undefined) inHand.delete(what)
      }
    },
    giveUp() {
      for (const what of inHand) log.error('result_given_up', what)
      inHand.clear()
      over.abort()
    },
  }
}

/** Knows which results of one turn are still on their way: whatever ends the turn waits for them. */
export function trackUnfinishedResultWrites(store: StoreWithRetry): {
  readonly store: StoreWithRetry
  readonly settled: () => Promise<void>
} {
  const open = new Set<Promise<unknown>>()
  return {
    store(what, write) {
      const storing = store(what, write)
      // What has not begun has no result.
      if (what === undefined) return storing
      open.add(storing)
      const dropSettledResult = (): void => void open.delete(storing)
      storing.then(dropSettledResult, dropSettledResult)
      return storing
    },
    async settled() {
      if (open.size > 0) await Promise.allSettled(open)
    },
  }
}
