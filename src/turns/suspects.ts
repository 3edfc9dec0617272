// Isolation of suspect turns, on which a process died. One of them may kill every process that runs it, so they are kept away
// from the others: first together in a process of their own, then each alone, then dead. Those that only ran beside the one at
// fault are answered.

import type { Db } from '../db/client.ts'
import { clearCrashOfReclaimedTurn, countSuspectTurnsByCrashes } from '../db/suspect-turns.ts'
import type { FullSlots, HeldLane } from '../db/turn-rows.ts'
import { claimControlTurns, claimTurns, releaseLane } from '../db/turns.ts'
import type { Log } from '../lib/log.ts'
import type { Wakeups } from './services.ts'
import type { TurnContext } from './turn-context.ts'
import type { TurnPolicy } from './turn-policy.ts'

// In which process a turn runs, by how often a process died on it.

/** `together`: a process died on them once. `alone`: more often; one at a time and nothing beside it. */
export type SuspectShare = 'together' | 'alone'

/** Where suspects run. */
export type Isolation = {
  /** After how many crashes a turn is theirs. */
  readonly from: 1 | 2
  /** Whether they can be run there just now. */
  readonly isOffered: () => boolean
  /** There are suspects for it. */
  readonly wake: () => void
}

/** A turn that was there once may have been there by chance. */
const aloneFrom = 2

type Range = { readonly text: string; readonly has: (crashes: number) => boolean }

function crashCountRangeOfShare(share: SuspectShare, maxCrashes: number): Range {
  const [from, to] = share === 'together' ? [1, aloneFrom] : [aloneFrom, Math.max(aloneFrom, maxCrashes)]
  return { text: `{[${from},${to})}`, has: (crashes) => crashes >= from && crashes < to }
}

/** Turns without suspicion, and those that are not run any more. */
function nonSuspectCrashRange(from: number, maxCrashes: number): Range {
  return { text: `{[0,${from}),[${maxCrashes},)}`, has: (crashes) => crashes < from || crashes >= maxCrashes }
}

export function chooseSuspectShare(crashes: number, maxCrashes: number): SuspectShare | undefined {
  return (['together', 'alone'] as const).find((share) => crashCountRangeOfShare(share, maxCrashes).has(crashes))
}

export type ClaimShare = (limit: number, full: FullSlots) => Promise<readonly HeldLane[]>

type SuspectDeps = {
  readonly db: Db
  readonly isolation?: Isolation
  readonly turnPolicy: TurnPolicy
  readonly wakeups: Wakeups
  readonly monotonicMs: () => number
  readonly log: Log
}

/** What one drain takes: what is not suspected, or its share of the suspects. `countRunning`: the turns that hold a slot. */
export function createSuspectAwareTurnClaimer(
  deps: SuspectDeps,
  suspects: SuspectShare | undefined,
  countRunning: () => number,
): ClaimShare {
  const { maxCrashes } = deps.turnPolicy
  if (suspects !== undefined) {
    const range = crashCountRangeOfShare(suspects, maxCrashes)
    return (limit, full) => claimLanesByCrashCount(deps, range, limit, full)
  }
  const claimAlone = createExclusiveClaim(deps, countRunning)
  return async (limit, full) => {
    const { isolation } = deps
    if (isolation?.isOffered() === true)
      return claimLanesByCrashCount(deps, nonSuspectCrashRange(isolation.from, maxCrashes), limit, full)
    // Nothing begins beside a suspect but what the gateway answers itself: to stop it, for instance.
    const suspect = await claimAlone()
    if (suspect !== undefined) return suspect.length > 0 ? suspect : claimControlTurns(deps.db, limit)
    return claimLanesByCrashCount(deps, nonSuspectCrashRange(aloneFrom, maxCrashes), limit, full)
  }
}

/** A lane that turns out to be another share's is given back, untouched. */
async function claimLanesByCrashCount(
  deps: SuspectDeps,
  range: Range,
  limit: number,
  full?: FullSlots,
): Promise<readonly HeldLane[]> {
  const ours: HeldLane[] = []
  const others: HeldLane[] = []
  for (const lane of await claimTurns(deps.db, limit, full, range.text)) {
    const { openTurn, connection, agent } = lane
    if (openTurn === null || range.has(openTurn.crashes)) ours.push(lane)
    else others.push(lane)
    if (openTurn === null || openTurn.crashes === 0 || !range.has(openTurn.crashes)) continue
    const { id: turn, traceId: trace, crashes, attempt } = openTurn
    deps.log.warn('turn_suspected', { connection, trace, turn, agent, attempt, crashes })
  }
  await Promise.all(others.map((lane) => releaseLane(deps.db, lane, 0, 'untouched')))
  if (others.length > 0) deps.isolation?.wake()
  return ours
}

/**
 * Where there is no other process: what runs comes to its end first, then the suspect has this one to itself. Answers the suspect
 * that runs now; none yet: what runs is waited for. Undefined: there is no suspect.
 */
function createExclusiveClaim(
  deps: SuspectDeps,
  countRunning: () => number,
): () => Promise<readonly HeldLane[] | undefined> {
  const { maxCrashes, pollMs } = deps.turnPolicy
  const range = crashCountRangeOfShare('alone', maxCrashes)
  let takenAt: number | undefined
  let checkSuspect = 0
  return async () => {
    const now = deps.monotonicMs()
    if (takenAt !== undefined) {
      if (countRunning() > 0) return []
      // As long as this took, it is the others' turn.
      checkSuspect = now + Math.max(pollMs, now - takenAt)
      takenAt = undefined
    }
    if (now < checkSuspect) return undefined
    const found = await countSuspectTurnsByCrashes(deps.db)
    if (!found.some(({ crashes }) => range.has(crashes))) {
      checkSuspect = deps.monotonicMs() + pollMs
      return undefined
    }
    if (countRunning() > 0) return []
    const lanes = await claimLanesByCrashCount(deps, range, 1)
    if (lanes.length === 0) return undefined
    takenAt = deps.monotonicMs()
    return lanes
  }
}

const patienceMs = 10_000
const maxTries = 60

/** The turn went on in another process while this process was frozen, or cut off from the database: it lives, so this was no crash. */
export function clearTurnCrashWithRetries(
  deps: { readonly db: Db },
  ready: Pick<TurnContext, 'lane' | 'turn'>,
  tries = 1,
): void {
  clearCrashOfReclaimedTurn(deps.db, ready.lane, ready.turn.id).catch(() => {
    // Told when the database is back; until then no other process can have counted it either.
    if (tries < maxTries)
      setTimeout(() => clearTurnCrashWithRetries(deps, ready, tries + 1), Math.min(patienceMs, tries * 500))
  })
}
