// The worker loops of a process: they claim turns, sends and timers while slots are free, and run them concurrently. No agent and
// no connection may hold all slots while there are others.

import type { Agent } from '../agents/define-agent.ts'
import type { Meter, WorkerLoopName } from '../contract/metrics.ts'
import type { Db } from '../db/client.ts'
import type { HeldSendLane } from '../db/outbox.ts'
import { claimSends } from '../db/outbox.ts'
import type { FullSlots, HeldLane } from '../db/turn-rows.ts'
import { claimControlTurns } from '../db/turns.ts'
import { errorLogFields, type Log, type LogFields } from '../lib/log.ts'
import { areSlotsFullTooLong, type SlotUse } from '../observability/process-metrics.ts'
import type { GatewayConnection } from './gateway-connection.ts'
import type { Wakeups } from './services.ts'
import { createSuspectAwareTurnClaimer, type Isolation, type SuspectShare } from './suspects.ts'
import type { TurnPolicy } from './turn-policy.ts'
import {
  chooseSlotShares,
  createAllLoopsIdleDetector,
  createSlots,
  runWorkerLoop,
  type SlotLane,
  type Slots,
  type WorkerLoop,
} from './worker-loop.ts'

/** Once `deadline` is aborted nothing new is claimed, and turns stop at their next journal step. */
export type DrainOptions = {
  readonly deadline: AbortSignal
  readonly untilIdle?: boolean
  /** Nothing but turns on which a process died. */
  readonly suspects?: SuspectShare
}

/** A lease counts from before it was asked for: what the claim itself took is already spent. */
export type Claimed<Lane> = { readonly lane: Lane; readonly claimedAt: number }

/** What becomes of claimed work. */
export type Work = {
  readonly turn: (claimed: Claimed<HeldLane>, isStopping: () => boolean) => Promise<void>
  readonly send: (claimed: Claimed<HeldSendLane>) => Promise<void>
  /** Timers become signals in their lanes, so many at once; the rest is an ordinary turn. Answers how many there were. */
  readonly timers: (limit: number) => Promise<number>
}

export type Workers = {
  /** Resolves at the deadline, or when nothing is due; all that was begun has ended then. */
  readonly drain: (options: DrainOptions) => Promise<void>
  /** Who holds the slots of turns. */
  readonly slots: () => SlotUse
  /** Milliseconds since each loop's last round; null before its first one. */
  readonly ages: () => Readonly<Record<WorkerLoopName, number | null>>
}

export type WorkerDeps = {
  readonly connections: readonly GatewayConnection[]
  readonly agents: ReadonlyMap<string, Agent>
  readonly db: Db
  readonly isolation?: Isolation
  readonly turnPolicy: TurnPolicy
  readonly wakeups: Wakeups
  readonly monotonicMs: () => number
  readonly log: Log
  readonly meter: Meter
}

export function createWorkers(deps: WorkerDeps, work: Work): Workers {
  const shares = chooseSlotShares(deps.turnPolicy, { agents: deps.agents.size, connections: deps.connections.length })
  const slots = createSlots(deps.turnPolicy.slots, shares, deps.monotonicMs)
  const rounds = new Map<WorkerLoopName, number>()
  const createLoopRoundTimeRecorder = (loop: WorkerLoopName) => () => void rounds.set(loop, deps.monotonicMs())
  const msSinceLastLoopRound = (loop: WorkerLoopName): number | null => {
    const at = rounds.get(loop)
    return at === undefined ? null : Math.max(0, deps.monotonicMs() - at)
  }
  const notifyAllWorkerLoops = (): void => {
    for (const wakeup of Object.values(deps.wakeups)) wakeup.notify()
  }
  return {
    slots: slots.use,
    ages: () => ({
      turns: msSinceLastLoopRound('turns'),
      sends: msSinceLastLoopRound('sends'),
      timers: msSinceLastLoopRound('timers'),
    }),
    async drain({ deadline, untilIdle = false, suspects }) {
      const { pollMs } = deps.turnPolicy
      const isStopping = (): boolean => deadline.aborted
      const shared: Shared = {
        isStopping,
        pollMs,
        monotonicMs: deps.monotonicMs,
        batch: 32,
        onError: createWorkerErrorLogger(deps),
        ...(untilIdle ? { untilQuiet: createAllLoopsIdleDetector(suspects === undefined ? 3 : 1) } : {}),
      }
      deadline.addEventListener('abort', notifyAllWorkerLoops)
      try {
        const onTurns = createStuckSlotsWatcher(deps, slots, createLoopRoundTimeRecorder('turns'))
        const turns = runWorkerLoop({ ...createTurnLoop(deps, work, slots, shared, suspects), onRound: onTurns })
        const running =
          suspects === undefined
            ? [
                runWorkerLoop({
                  ...createTimerLoop(deps, work, shared),
                  onRound: createLoopRoundTimeRecorder('timers'),
                }),
                turns,
                runWorkerLoop({ ...createSendLoop(deps, work, shared), onRound: createLoopRoundTimeRecorder('sends') }),
              ]
            : [turns]
        // The first to find everything quiet ends; the others wake and find the same.
        await Promise.all(running.map((each) => each.finally(notifyAllWorkerLoops)))
      } finally {
        deadline.removeEventListener('abort', notifyAllWorkerLoops)
      }
    },
  }
}

type Shared = Pick<WorkerLoop<unknown>, 'isStopping' | 'untilQuiet' | 'pollMs' | 'monotonicMs' | 'batch'> & {
  readonly onError: (error: unknown, work?: WorkInHand) => void
}

/** What a worker loop holds, as far as a failure names it. */
type WorkInHand = {
  readonly lane: Pick<HeldLane, 'connection'> & Partial<HeldLane> & Partial<Pick<HeldSendLane, 'calls'>>
}

type Slotted<Lane> = Claimed<Lane> & { readonly leaveSlot: () => void }

function createTurnLoop(
  deps: WorkerDeps,
  work: Work,
  slots: Slots,
  shared: Shared,
  suspects: SuspectShare | undefined,
): WorkerLoop<Slotted<HeldLane>> {
  const claimShare = createSuspectAwareTurnClaimer(deps, suspects, slots.used)
  const claimUrgent = async (limit: number): Promise<readonly Slotted<HeldLane>[]> => {
    const claimedAt = deps.monotonicMs()
    const lanes = await claimControlTurns(deps.db, limit)
    deps.meter.claimed('turns', lanes.length)
    return lanes.map((lane) => ({ lane, claimedAt, leaveSlot: slots.take(lane) }))
  }
  return {
    ...shared,
    slots: suspects === 'alone' ? 1 : deps.turnPolicy.slots,
    wakeup: deps.wakeups.turns,
    claim: createClaimWithinSlotShares(deps, slots, { loop: 'turns', claim: claimShare }),
    // A gateway full of long runs is where a person wants to say stop.
    ...(suspects === undefined ? { claimUrgent } : {}),
    run: ({ leaveSlot, ...claimed }) => work.turn(claimed, shared.isStopping).finally(leaveSlot),
  }
}

/** A flood of one connection, or a vendor that is slow to answer, leaves slots to the sends of others. */
function createSendLoop(deps: WorkerDeps, work: Work, shared: Shared): WorkerLoop<Slotted<HeldSendLane>> {
  const { sendSlots } = deps.turnPolicy
  const reserved = { slots: sendSlots, reservedSlots: Math.ceil(sendSlots / 8) }
  const shares = chooseSlotShares(reserved, { agents: 1, connections: deps.connections.length })
  return {
    ...shared,
    slots: sendSlots,
    wakeup: deps.wakeups.sends,
    claim: createClaimWithinSlotShares(deps, createSlots(sendSlots, shares, deps.monotonicMs), {
      loop: 'sends',
      claim: (limit, { connections }) => claimSends(deps.db, limit, connections),
    }),
    run: ({ leaveSlot, ...claimed }) => work.send(claimed).finally(leaveSlot),
  }
}

function createTimerLoop(deps: WorkerDeps, work: Work, shared: Shared): WorkerLoop<never> {
  return {
    ...shared,
    slots: shared.batch,
    wakeup: deps.wakeups.timers,
    async claim(limit) {
      for (let fired = limit; fired === limit && !shared.isStopping(); ) {
        fired = await work.timers(limit)
        deps.meter.claimed('timers', fired)
        if (fired === 0) break
        shared.untilQuiet?.stir()
        deps.wakeups.turns.notify()
      }
      return []
    },
    run: async () => {},
  }
}

/** How much longer than looking past the lanes of those who are full took, nothing is looked for. */
const restFactor = 4

type SharedClaim<Lane> = {
  readonly loop: 'turns' | 'sends'
  readonly claim: (limit: number, full: FullSlots) => Promise<readonly Lane[]>
}

/**
 * More than one claim only where an agent or a connection comes close to its share: nothing is claimed that has no slot. The
 * more waits for those who are full, the longer it takes to look past it: at most a fifth of the time is spent on that.
 */
function createClaimWithinSlotShares<Lane extends SlotLane>(
  deps: WorkerDeps,
  slots: Slots,
  { loop, claim }: SharedClaim<Lane>,
): WorkerLoop<Slotted<Lane>>['claim'] {
  let restUntil = 0
  let isNotifyDue = false
  const wakeLoopAfter = (ms: number): void => {
    if (isNotifyDue) return
    isNotifyDue = true
    setTimeout(() => {
      isNotifyDue = false
      deps.wakeups[loop].notify()
    }, ms)
  }
  return async (limit) => {
    const held: Slotted<Lane>[] = []
    for (let isMore = true; isMore && held.length < limit; ) {
      const { limit: asked, full } = slots.room(limit - held.length)
      const isAnyFull = full.agents.length + full.connections.length + full.pairs.length > 0
      const claimedAt = deps.monotonicMs()
      if (isAnyFull && claimedAt < restUntil) {
        wakeLoopAfter(restUntil - claimedAt)
        break
      }
      const lanes = await claim(asked, full).catch((error: unknown) => {
        // What is held already has to run.
        if (held.length === 0) throw error
        return []
      })
      for (const lane of lanes) held.push({ lane, claimedAt, leaveSlot: slots.take(lane) })
      isMore = lanes.length === asked
      if (isAnyFull && !isMore) restUntil = deps.monotonicMs() + restFactor * (deps.monotonicMs() - claimedAt)
    }
    deps.meter.claimed(loop, held.length)
    return held
  }
}

/** Says once that nothing goes on, and who holds the slots. */
function createStuckSlotsWatcher(deps: WorkerDeps, slots: Slots, onRound: () => void): () => void {
  let isReported = false
  return () => {
    onRound()
    const use = slots.use()
    const [most] = use.holders
    if (areSlotsFullTooLong(use) && !isReported && most !== undefined) {
      const { agent, connection, used, oldestMs } = most
      deps.log.warn('slots_full', { agent, connection, held: used, count: use.slots, ms: Math.round(oldestMs) })
    }
    isReported = areSlotsFullTooLong(use)
  }
}

function createWorkerErrorLogger(deps: WorkerDeps): Shared['onError'] {
  return (error, work) => {
    deps.log.error('drain_failed', {
      ...(work === undefined ? {} : claimedWorkLogFields(work)),
      ...errorLogFields(error, 'internal'),
    })
  }
}

/** By which `explain` finds it: the first message, the turn, or the first call of what was in hand. */
function claimedWorkLogFields({
  lane: { connection, conversationId, messages, openTurn, calls },
}: WorkInHand): LogFields {
  const [message] = messages ?? []
  const [call] = calls ?? []
  return {
    connection,
    conversation: conversationId ?? call?.conversationId ?? null,
    inbox: message?.id ?? null,
    turn: openTurn?.id ?? call?.turnId ?? null,
    outbox: call?.id ?? null,
  }
}
