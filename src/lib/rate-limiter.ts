// The rate limiter: how much one sender, server or connection may send at once, counted by this process; what is beyond it is
// told to come later. Only what was proven counts: no sender uses up the share of another by naming them.

import type { RateLimit } from '../contract/capabilities.ts'
import { LruMap } from './cache.ts'

export interface RateLimiter {
  /** Undefined: it may come in. Else the seconds after which it may be tried again. Counts nothing. */
  ask(host: string): number | undefined
  /** The same for what is counted by it. */
  take(host: string): number | undefined
}

/** A sender cannot fill the memory by naming hosts: beyond so many the one that was quiet longest is forgotten. */
const maxHosts = 10_000

/** Two halves of a window are counted; the older fades as the newer grows. */
type WindowCount = { start: number; now: number; before: number }

export function createRateLimiter(now: () => number, { count, perMs }: RateLimit): RateLimiter {
  const hosts = new LruMap<string, WindowCount>(maxHosts)
  const secondsUntilAllowed = ({ now: taken, before }: WindowCount, start: number): number | undefined => {
    const share = 1 - (now() - start) / perMs
    return taken + before * share >= count ? Math.max(1, Math.ceil((start + perMs - now()) / 1000)) : undefined
  }
  const windowStart = (): number => Math.floor(now() / perMs) * perMs
  return {
    ask(host) {
      const start = windowStart()
      return secondsUntilAllowed(rollWindowForward(hosts.get(host), start, perMs), start)
    },
    take(host) {
      const start = windowStart()
      const counted = rollWindowForward(hosts.get(host), start, perMs)
      hosts.set(host, counted)
      const seconds = secondsUntilAllowed(counted, start)
      if (seconds === undefined) counted.now += 1
      return seconds
    },
  }
}

function rollWindowForward(known: WindowCount | undefined, start: number, perMs: number): WindowCount {
  if (known?.start === start) return known
  return { start, now: 0, before: known?.start === start - perMs ? known.now : 0 }
}
