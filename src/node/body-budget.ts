// How many bytes of bodies this process holds for callers it does not know yet, and how long it waits for them. All bodies share one
// budget; a part of it is kept for small ones, so that a flood of large bodies does not silence ordinary webhooks.
import type { HttpLimits } from '../config/limits.ts'

export type BodyRefusal = 'bodies_full' | 'body_timeout' | 'body_fragmented'

export type BodyFacts = {
  /** What shares what one address may have; undefined: no share of its own. */
  readonly address: string | undefined
  /** Undefined: it does not say how long it will be. */
  readonly declaredBytes: number | undefined
  /** A webhook's body is short, and its sender does not send slowly. */
  readonly isWebhook: boolean
  /** Ends the request with an answer. Called at most once; `end` follows when the connection has let go of the bytes. */
  readonly refuse: (reason: BodyRefusal) => void
}

/** One body, from the head of its request until nothing holds its bytes any more. */
export type TrackedBody = {
  /** False: these bytes are not to be kept, the request is being refused. */
  readonly take: (bytes: number) => boolean
  /** All of it is here; no time runs any more. */
  readonly complete: () => void
  /** It is known whose it is, or it is not held but passed on: its bytes count no more, its time still does. */
  readonly release: () => void
  readonly end: () => void
}

export type BodyUse = { readonly bytes: number; readonly bodies: number; readonly limitBytes: number }

export type BodyBudget = {
  /** Its declared length is set aside. Undefined: there is no room for it, and not a byte of it should be read. */
  readonly begin: (facts: BodyFacts) => TrackedBody | undefined
  /** Refuses what takes too long. Called about once a second. */
  readonly sweep: () => void
  readonly use: () => BodyUse
}

export type BudgetLimits = Pick<HttpLimits, 'bodyBytes' | 'addressShare' | 'bodyTimeoutMs' | 'minBodyBytesPerSecond'>

/** Larger than nearly every webhook; bodies up to here may use what larger ones have to leave free. */
const smallBytes = 64 * 1024
const largeShare = 0.75
/** Under pressure the oldest body makes room, once it has had time to arrive. Honest ones are complete by then. */
const minAgeMs = 1_000
/** What a piece costs besides its bytes. A body of one-byte pieces would take two hundred times its length. */
const pieceBytes = 256
const minPieceBytes = 32
const stepBytes = 16 * 1024
const freePieces = 1024
/** What was refused and is about to be let go may be counted on, up to this share. */
const leavingShare = 0.25

type Entry = {
  readonly facts: BodyFacts
  readonly startedAt: number
  received: number
  pieces: number
  held: number
  isLarge: boolean
  state: 'reading' | 'complete' | 'refused' | 'ended'
}

export function createBodyBudget(limits: BudgetLimits, now: () => number): BodyBudget {
  const { bodyBytes: total } = limits
  // In the order in which they began.
  const entries = new Set<Entry>()
  const byAddress = new Map<string, number>()
  const sums = { held: 0, large: 0, leaving: 0 }

  /** What is being refused counts in the whole until it is gone, and in no client's share. */
  const addToShares = ({ isLarge, facts: { address } }: Entry, bytes: number): void => {
    if (isLarge) sums.large += bytes
    if (address === undefined) return
    const sum = (byAddress.get(address) ?? 0) + bytes
    if (sum <= 0) byAddress.delete(address)
    else byAddress.set(address, sum)
  }
  const holdBytes = (entry: Entry, bytes: number): void => {
    entry.held += bytes
    sums.held += bytes
    if (entry.state === 'refused') sums.leaving += bytes
    else addToShares(entry, bytes)
  }
  const markLargeBody = (entry: Entry): void => {
    if (entry.isLarge || Math.max(entry.received, entry.facts.declaredBytes ?? 0) <= smallBytes) return
    entry.isLarge = true
    sums.large += entry.held
  }
  const refuseBody = (entry: Entry, reason: BodyRefusal): void => {
    entry.state = 'refused'
    sums.leaving += entry.held
    addToShares(entry, -entry.held)
    entry.facts.refuse(reason)
  }
  /** Who has to make room before this one may have so many bytes more; undefined: there is room. */
  const crowdingBodies = ({ isLarge, facts }: Entry, bytes: number): ((other: Entry) => boolean) | undefined => {
    const isFull = sums.held + bytes > total * (1 + leavingShare) || sums.held - sums.leaving + bytes > total
    if (isFull) return () => true
    if (isLarge && sums.large + bytes > total * largeShare) return (other) => other.isLarge
    const { address } = facts
    if (address !== undefined && (byAddress.get(address) ?? 0) + bytes > total * limits.addressShare)
      return (other) => other.facts.address === address
    return undefined
  }
  const oldestCrowdingBody = (isCrowding: (other: Entry) => boolean): Entry | undefined => {
    for (const each of entries) if (each.state === 'reading' && isCrowding(each)) return each
    return undefined
  }
  const makeRoomForBytes = (entry: Entry, bytes: number): boolean => {
    const isCrowding = crowdingBodies(entry, bytes)
    if (isCrowding === undefined) return true
    const oldest = oldestCrowdingBody(isCrowding)
    if (oldest === undefined || oldest === entry || now() - oldest.startedAt < minAgeMs) return false
    refuseBody(oldest, 'bodies_full')
    return crowdingBodies(entry, bytes) === undefined
  }
  const takeBodyBytes = (entry: Entry, bytes: number): boolean => {
    if (entry.state !== 'reading') return false
    entry.received += bytes
    entry.pieces += 1
    markLargeBody(entry)
    if (entry.pieces > freePieces + entry.received / minPieceBytes) {
      refuseBody(entry, 'body_fragmented')
      return false
    }
    // What was declared is held already; a body that does not say its length is given room step by step.
    const more = entry.received + entry.pieces * pieceBytes - entry.held
    if (more <= 0) return true
    if (makeRoomForBytes(entry, more + stepBytes)) {
      holdBytes(entry, more + stepBytes)
      return true
    }
    refuseBody(entry, 'bodies_full')
    return false
  }
  const releaseBodyBytes = (entry: Entry): void => holdBytes(entry, -entry.held)
  const bodyDeadline = ({ startedAt, received, facts }: Entry): number => {
    const more = facts.isWebhook ? 0 : (received / limits.minBodyBytesPerSecond) * 1000
    return startedAt + limits.bodyTimeoutMs + more
  }
  return {
    begin(facts) {
      const entry: Entry = {
        facts,
        startedAt: now(),
        received: 0,
        pieces: 0,
        held: 0,
        isLarge: (facts.declaredBytes ?? 0) > smallBytes,
        state: 'reading',
      }
      const wanted = stepBytes + (facts.declaredBytes ?? 0)
      if (!makeRoomForBytes(entry, wanted)) return undefined
      entries.add(entry)
      holdBytes(entry, wanted)
      let isReleased = false
      return {
        take(bytes) {
          if (!isReleased) return takeBodyBytes(entry, bytes)
          entry.received += bytes
          return entry.state === 'reading'
        },
        complete() {
          if (entry.state === 'reading') entry.state = 'complete'
        },
        release() {
          isReleased = true
          if (entry.state !== 'refused') releaseBodyBytes(entry)
        },
        end() {
          releaseBodyBytes(entry)
          entry.state = 'ended'
          entries.delete(entry)
        },
      }
    },
    sweep() {
      const at = now()
      for (const entry of [...entries])
        if (entry.state === 'reading' && at >= bodyDeadline(entry)) refuseBody(entry, 'body_timeout')
    },
    use: () => ({ bytes: sums.held, bodies: entries.size, limitBytes: total }),
  }
}
