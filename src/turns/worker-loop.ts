// The worker loop: claims work while slots are free, runs it concurrently, sleeps until it is notified; and the slots themselves.

import type { FullSlots, HeldLane } from '../db/turn-rows.ts'
import type { SlotHolder, SlotUse } from '../observability/process-metrics.ts'
import type { TurnPolicy } from './turn-policy.ts'

/** Wakes sleepers in this process. Correctness never depends on it: every sleeper also wakes by itself. */
export type Wakeup = {
  /** `isUrgent`: for something that must not wait until a slot is free. */
  readonly notify: (isUrgent?: boolean) => void
  readonly wait: (ms: number) => Promise<void>
  /** Whether it was notified of something urgent since it was last asked. */
  readonly takeUrgent: () => boolean
}

export function createWakeup(): Wakeup {
  let sleepers: (() => void)[] = []
  let isNotified = false
  let hasUrgent = false
  return {
    takeUrgent() {
      const had = hasUrgent
      hasUrgent = false
      return had
    },
    notify(isUrgent = false) {
      isNotified = true
      hasUrgent ||= isUrgent
      const woken = sleepers
      sleepers = []
      for (const wake of woken) wake()
    },
    wait(ms) {
      if (isNotified) {
        isNotified = false
        return Promise.resolve()
      }
      return new Promise((resolve) => {
        const wakeWorker = (): void => {
          clearTimeout(timer)
          isNotified = false
          resolve()
        }
        const timer = setTimeout(() => {
          sleepers = sleepers.filter((other) => other !== wakeWorker)
          resolve()
        }, ms)
        sleepers.push(wakeWorker)
      })
    },
  }
}

export type WorkerLoop<Work> = {
  readonly slots: number
  readonly batch: number
  readonly pollMs: number
  readonly wakeup: Wakeup
  readonly claim: (limit: number) => Promise<readonly Work[]>
  /**
   * Asked in place of `claim` while every slot is taken: what must not wait for one. Up to `urgentSlots` at once, and only
   * after an urgent wake-up or every `pollMs`: a full loop is woken by every message that comes in.
   */
  readonly claimUrgent?: (limit: number) => Promise<readonly Work[]>
  readonly monotonicMs: () => number
  readonly run: (work: Work) => Promise<void>
  /** Without `work`: nothing could be claimed. */
  readonly onError: (error: unknown, work?: Work) => void
  /** Called once per round, at least every `pollMs` while the loop works: silence means it hangs or has died. */
  readonly onRound?: () => void
  readonly isStopping: () => boolean
  /** Return as soon as nothing is left here nor in the loops that share this, instead of waiting for more. */
  readonly untilQuiet?: Quiet
}

/** Knows when several worker loops have nothing left, though each leaves work for the others. */
export type Quiet = {
  /** Something began, ended or was made: a loop that found nothing has to look again. */
  readonly stir: () => void
  readonly moment: () => number
  /** A loop looked at `moment` and found nothing. When that holds for all of them, with no stir in between, it is over. */
  readonly rest: (loop: object, moment: number) => void
  readonly isOver: () => boolean
}

export function createAllLoopsIdleDetector(loops: number): Quiet {
  let moment = 0
  let isOver = false
  const resting = new Map<object, number>()
  return {
    stir() {
      moment += 1
    },
    moment: () => moment,
    isOver: () => isOver,
    rest(loop, seen) {
      resting.set(loop, seen)
      isOver ||= resting.size === loops && [...resting.values()].every((each) => each === moment)
    },
  }
}

/** Resolves when told to stop, or when all is quiet if asked to; everything it started has ended by then. */
export async function runWorkerLoop<Work>(loop: WorkerLoop<Work>): Promise<void> {
  const running = new Set<Promise<void>>()
  const startLoopWork = (work: Work): void => {
    loop.untilQuiet?.stir()
    const task = loop
      .run(work)
      .catch((error) => loop.onError(error, work))
      .finally(() => {
        running.delete(task)
        loop.untilQuiet?.stir()
        // A finished lane may have more waiting, and its slot is free.
        loop.wakeup.notify()
      })
    running.add(task)
  }
  const isLoopOver = (): boolean => loop.isStopping() || (loop.untilQuiet?.isOver() ?? false)
  const urgency: Urgency = { isDue: true, checkedAt: loop.monotonicMs() }
  while (!isLoopOver()) {
    loop.onRound?.()
    const free = Math.min(loop.batch, loop.slots - running.size)
    const moment = loop.untilQuiet?.moment() ?? 0
    const claimed =
      free > 0 ? await claimOrLogError(loop, loop.claim, free) : await claimUrgently(loop, running.size, urgency)
    for (const work of claimed) startLoopWork(work)
    if (claimed.length > 0 && claimed.length === free) continue
    if (claimed.length === 0 && running.size === 0) loop.untilQuiet?.rest(loop, moment)
    if (isLoopOver()) break
    await loop.wakeup.wait(loop.pollMs)
  }
  await Promise.all(running)
}

/** Beside the slots; small, because what is urgent is also short. */
const urgentSlots = 4

type Urgency = { isDue: boolean; checkedAt: number }

async function claimUrgently<Work>(
  loop: WorkerLoop<Work>,
  running: number,
  urgency: Urgency,
): Promise<readonly Work[]> {
  if (loop.claimUrgent === undefined) return []
  const now = loop.monotonicMs()
  // Asked first: what is not looked for now, for want of a slot, is looked for when one is free.
  urgency.isDue = loop.wakeup.takeUrgent() || urgency.isDue || now - urgency.checkedAt >= loop.pollMs
  const free = loop.slots + urgentSlots - running
  if (!urgency.isDue || free <= 0) return []
  urgency.checkedAt = now
  const claimed = await claimOrLogError(loop, loop.claimUrgent, free)
  urgency.isDue = claimed.length === free
  return claimed
}

async function claimOrLogError<Work>(
  loop: WorkerLoop<Work>,
  claim: (limit: number) => Promise<readonly Work[]>,
  limit: number,
): Promise<readonly Work[]> {
  try {
    return await claim(limit)
  } catch (error) {
    loop.onError(error)
    return []
  }
}

// The concurrency slots that turns and sends run in: no agent and no connection may hold them all while there are others.

/** A send has no agent: connections alone share its slots. */
export type SlotLane = { readonly agent?: string; readonly connection: string }

type Lane = Pick<HeldLane, 'agent' | 'connection'>

export type Slots = {
  /** How many lanes may be claimed at once without exceeding any share, and whose may not be claimed at all. */
  readonly room: (limit: number) => { readonly limit: number; readonly full: FullSlots }
  /** Call what it returns when the turn has ended. */
  readonly take: (lane: SlotLane) => () => void
  readonly used: () => number
  readonly use: () => SlotUse
}

export type SlotShares = { readonly agent: number; readonly connection: number; readonly pair: number }

/**
 * Each agent leaves `reservedSlots` to other agents, each connection as many to other connections, and an agent on one
 * connection both. Where there is no other there is nothing to leave.
 */
export function chooseSlotShares(
  { slots, reservedSlots }: Pick<TurnPolicy, 'slots' | 'reservedSlots'>,
  { agents, connections }: { readonly agents: number; readonly connections: number },
): SlotShares {
  const forAgents = agents > 1 ? reservedSlots : 0
  const forConnections = connections > 1 ? reservedSlots : 0
  const subtractReserved = (reserved: number): number => Math.max(1, slots - reserved)
  return {
    agent: subtractReserved(forAgents),
    connection: subtractReserved(forConnections),
    pair: subtractReserved(forAgents + forConnections),
  }
}

type Pair = Lane & { readonly startedAt: Set<{ readonly at: number }>; fullSince: number | undefined }

export function createSlots(slots: number, shares: SlotShares, monotonicMs: () => number): Slots {
  const pairs = new Map<string, Pair>()
  let used = 0
  let fullSince: number | undefined
  const countUsedSlots = () => {
    const byAgent = new Map<string, number>()
    const byConnection = new Map<string, number>()
    for (const { agent, connection, startedAt } of pairs.values()) {
      byAgent.set(agent, (byAgent.get(agent) ?? 0) + startedAt.size)
      byConnection.set(connection, (byConnection.get(connection) ?? 0) + startedAt.size)
    }
    return { byAgent, byConnection }
  }
  const updateFullSinceOfPairs = (changed: Lane): void => {
    const { byAgent, byConnection } = countUsedSlots()
    for (const pair of pairs.values()) {
      const { agent, connection, startedAt } = pair
      if (agent !== changed.agent && connection !== changed.connection) continue
      const isFull =
        startedAt.size >= shares.pair ||
        (byAgent.get(agent) ?? 0) >= shares.agent ||
        (byConnection.get(connection) ?? 0) >= shares.connection
      pair.fullSince = isFull ? (pair.fullSince ?? monotonicMs()) : undefined
    }
  }
  return {
    room(limit) {
      const { byAgent, byConnection } = countUsedSlots()
      const full = { agents: [] as string[], connections: [] as string[], pairs: [] as string[] }
      let room = Math.min(limit, ...Object.values(shares))
      const collectFullKeyOrLowerFreeSlots = (key: string, held: number, share: number, fullKeys: string[]): void => {
        if (held >= share) fullKeys.push(key)
        else room = Math.min(room, share - held)
      }
      for (const [key, { startedAt }] of pairs)
        collectFullKeyOrLowerFreeSlots(key, startedAt.size, shares.pair, full.pairs)
      for (const [key, held] of byAgent) collectFullKeyOrLowerFreeSlots(key, held, shares.agent, full.agents)
      for (const [key, held] of byConnection)
        collectFullKeyOrLowerFreeSlots(key, held, shares.connection, full.connections)
      return { limit: room, full }
    },
    take({ agent = '', connection }) {
      // As the claim names what it passes by.
      const key = `${connection} ${agent}`
      const pair = pairs.get(key) ?? { agent, connection, startedAt: new Set(), fullSince: undefined }
      pairs.set(key, pair)
      const begun = { at: monotonicMs() }
      pair.startedAt.add(begun)
      used += 1
      if (used >= slots) fullSince ??= begun.at
      updateFullSinceOfPairs(pair)
      return () => {
        if (!pair.startedAt.delete(begun)) return
        if (pair.startedAt.size === 0) pairs.delete(key)
        used -= 1
        if (used < slots) fullSince = undefined
        updateFullSinceOfPairs(pair)
      }
    },
    used: () => used,
    use() {
      const now = monotonicMs()
      const holders = [...pairs.values()].map(
        ({ agent, connection, startedAt: [...begun], fullSince: since }): SlotHolder => ({
          agent,
          connection,
          used: begun.length,
          oldestMs: now - (begun[0]?.at ?? now),
          fullMs: since === undefined ? null : now - since,
        }),
      )
      holders.sort((a, b) => b.used - a.used)
      return { slots, used, fullMs: fullSince === undefined ? null : now - fullSince, holders }
    },
  }
}
