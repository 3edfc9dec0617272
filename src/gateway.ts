// The gateway: the journey of a message. receive() verifies, normalizes and accepts, and ends with a stored row; drain() runs
// turns and deliveries from any stored row, so that a message survives a crash.
//
//   bytes -> verify -> normalize -> accept --commit--> 2xx
//   lane  -> take turn -> identify, admit, merge -> run -> render --commit--> outbox -> deliver -> settle

import { outcomeWords } from './agents/approvals/approval-messages.ts'
import {
  type AcceptResult,
  errorLogFields,
  type InboundMessage,
  type JsonObject,
  type LogFields,
  type RawRequest,
  type RejectReason,
  type WatchResult,
  type WorkerLoopName,
} from './contract/index.ts'
import type { HeldSendLane } from './db/outbox.ts'
import type { PendingActionStore } from './db/pending-actions.ts'
import type { Resubmission } from './db/receipts.ts'
import type { RunStore } from './db/runs.ts'
import type { ToolRequestStore } from './db/tool-requests.ts'
import type { FullSlots, HeldLane } from './db/turn-rows.ts'
import { type Asked, type Done, operate } from './inbound/channel-operations.ts'
import { acceptMessages, logRejectedRequest, type Received, receive } from './inbound/receive.ts'
import { type RequestTrace, startRequestTrace } from './inbound/request-context.ts'
import { resubmit } from './inbound/resubmit.ts'
import { createSenderLimits } from './inbound/sender-limits.ts'
import { waitForAnswer } from './inbound/wait-for-answer.ts'
import { say } from './locales/say.ts'
import { isStandstill, type SlotUse } from './observability/process-metrics.ts'
import { dispatchLane } from './outbound/deliver.ts'
import type { GatewayConnection, GatewayDeps, People } from './turns/deps.ts'
import type { SuspectShare } from './turns/isolation.ts'
import { createSlots, type SlotLane, type Slots, slotShares } from './turns/slots.ts'
import { createShare } from './turns/suspects.ts'
import { takeTurn } from './turns/take-turn.ts'
import { createQuiet, runWorkerLoop, type WorkerLoop } from './turns/worker-loop.ts'

export type Gateway = {
  readonly connections: readonly GatewayConnection[]
  /** `isPulled`: the gateway fetched it itself. */
  readonly receive: (at: GatewayConnection, request: RawRequest, isPulled?: boolean) => Promise<Received>
  /** The same in pieces, for channels that answer their own requests. */
  readonly enter: (traceparent: string | undefined) => RequestTrace
  readonly take: (
    at: GatewayConnection,
    messages: readonly InboundMessage[],
    entry: RequestTrace,
  ) => Promise<readonly AcceptResult[]>
  readonly logRejection: (at: GatewayConnection, reason: RejectReason, entry: RequestTrace) => void
  /** Waits for what becomes of a stored message. A caller that goes away loses nothing. */
  readonly watch: (inboxId: string, timeoutMs: number) => Promise<WatchResult>
  readonly runs: RunStore
  /** What others check our evidence by; undefined: nothing is signed here. */
  readonly connectorCard: () => Promise<JsonObject | undefined>
  /** Sleeps until run events were stored here, at most so long. */
  readonly waitForEvents: (ms: number) => Promise<void>
  /** A dead turn is queued again; an unparsable event is read again; `by` is written down. False: nothing to do. */
  readonly resubmit: (inboxId: string, by: string, how?: Resubmission) => Promise<boolean>
  /** What an operator asks of a channel; what that changes is one row and one commit. */
  readonly operate: (at: GatewayConnection, asked: Asked) => Promise<Done>
  /** What paused runs wait for. A caller that decides wakes the gateway afterwards. */
  readonly waits: Waits
  /** Who may speak, and who they are. A caller that changes it wakes the gateway afterwards. */
  readonly people: People
  /** Works until its deadline, or until nothing is due. The next drain goes on where this one stopped, here or in another process. */
  readonly drain: (options: DrainOptions) => Promise<void>
  /** Milliseconds until there is something to drain that no process holds; 0 = now, undefined = nothing waits. */
  readonly nextDueMs: () => Promise<number | undefined>
  /** Who holds the slots of this process. */
  readonly slots: () => SlotUse
  /** Milliseconds since each worker loop's last round; null before its first one. */
  readonly workerAges: () => Readonly<Record<WorkerLoopName, number | null>>
}

export type Waits = {
  readonly tenant: string
  readonly actions: PendingActionStore
  readonly toolRequests: ToolRequestStore
}

/** Once `deadline` is aborted nothing new is claimed, and turns stop at their next journal step. */
export type DrainOptions = {
  readonly deadline: AbortSignal
  readonly untilIdle?: boolean
  /** Nothing but turns on which a process died. */
  readonly suspects?: SuspectShare
}

export function createGateway(deps: GatewayDeps): Gateway {
  const shares = slotShares(deps.turnPolicy, { agents: deps.agents.size, connections: deps.connections.length })
  const slots = createSlots(deps.turnPolicy.slots, shares, deps.monotonicMs)
  const rounds = new Map<WorkerLoopName, number>()
  const receiving = { ...deps, senderLimits: createSenderLimits(deps) }
  const recordRound = (loop: WorkerLoopName) => () => void rounds.set(loop, deps.monotonicMs())
  const msSinceRound = (loop: WorkerLoopName): number | null => {
    const at = rounds.get(loop)
    return at === undefined ? null : Math.max(0, deps.monotonicMs() - at)
  }
  return {
    connections: deps.connections,
    receive: (at, request, isPulled) => receive(receiving, at, request, isPulled),
    enter: (traceparent) => startRequestTrace(deps, traceparent),
    take: (at, messages, entry) => acceptMessages(receiving, at, messages, entry),
    logRejection: (at, reason, entry) => logRejectedRequest(deps, at, reason, entry),
    watch: (inboxId, timeoutMs) => waitForAnswer(deps, inboxId, timeoutMs),
    runs: deps.runs,
    connectorCard: deps.attestor.card,
    waitForEvents: deps.wakeups.events.wait,
    resubmit: (inboxId, by, how) => resubmit(deps, inboxId, by, how),
    operate: (at, asked) => operate(deps, at, asked),
    waits: { tenant: deps.tenant, actions: deps.pendingActions, toolRequests: deps.toolRequests },
    people: deps.people,
    drain: (options) => drainQueues(deps, slots, options, recordRound),
    slots: slots.use,
    nextDueMs: deps.nextDueMs,
    workerAges: () => ({ turns: msSinceRound('turns'), sends: msSinceRound('sends'), timers: msSinceRound('timers') }),
  }
}

/** A presence update that is under way when everything else is done. */
const presenceTimeoutMs = 2_000

async function drainQueues(
  deps: GatewayDeps,
  slots: Slots,
  { deadline, untilIdle = false, suspects }: DrainOptions,
  onRound: (loop: WorkerLoopName) => () => void,
): Promise<void> {
  const isStopping = (): boolean => deadline.aborted
  const shared = { isStopping, ...workerPacing(deps), batch: 32, onError: logWorkerError(deps) }
  const loops = untilIdle ? { ...shared, untilQuiet: createQuiet(suspects === undefined ? 3 : 1) } : shared
  const wakeAllLoops = (): void => {
    for (const wakeup of Object.values(deps.wakeups)) wakeup.notify()
  }
  deadline.addEventListener('abort', wakeAllLoops)
  try {
    const onTurns = warnWhenSlotsAreStuck(deps, slots, onRound('turns'))
    const turns = runWorkerLoop({ ...turnWorker(deps, slots, loops, suspects), onRound: onTurns })
    const running =
      suspects === undefined
        ? [
            runWorkerLoop({ ...timerWorker(deps, loops), onRound: onRound('timers') }),
            turns,
            runWorkerLoop({ ...sendWorker(deps, loops), onRound: onRound('sends') }),
          ]
        : [turns]
    // The first to find everything quiet ends; the others wake and find the same.
    await Promise.all(running.map((each) => each.finally(wakeAllLoops)))
    await deps.presence.rest(presenceTimeoutMs)
  } finally {
    deadline.removeEventListener('abort', wakeAllLoops)
  }
}

type Shared = Pick<WorkerLoop<unknown>, 'isStopping' | 'untilQuiet' | 'pollMs' | 'monotonicMs' | 'batch'> & {
  readonly onError: (error: unknown, work?: Claimed) => void
}

/** What a worker loop holds, as far as a failure names it. */
type Claimed = {
  readonly lane: Pick<HeldLane, 'connection'> & Partial<HeldLane> & Partial<Pick<HeldSendLane, 'calls'>>
}

function workerPacing(deps: GatewayDeps): Pick<Shared, 'pollMs' | 'monotonicMs'> {
  return { pollMs: deps.turnPolicy.pollMs, monotonicMs: deps.monotonicMs }
}

type ClaimedLane<Lane> = { readonly lane: Lane; readonly claimedAt: number }
type Slotted<Lane> = ClaimedLane<Lane> & { readonly leaveSlot: () => void }
type SlottedTurn = Slotted<Parameters<typeof takeTurn>[1]['lane']>

function turnWorker(
  deps: GatewayDeps,
  slots: Slots,
  shared: Shared,
  suspects: SuspectShare | undefined,
): WorkerLoop<SlottedTurn> {
  const share = createShare(deps, suspects)
  const claimControl = claimWithTime(deps, 'turns', deps.turns.claimControl)
  const claimUrgent = async (limit: number) => (await claimControl(limit)).map((claimed) => holdSlot(slots, claimed))
  return {
    ...shared,
    slots: suspects === 'alone' ? 1 : deps.turnPolicy.slots,
    wakeup: deps.wakeups.turns,
    claim: createSharedClaim(deps, slots, { loop: 'turns', claim: share.claim }),
    // A gateway full of long runs is where a person wants to say stop.
    ...(suspects === undefined ? { claimUrgent } : {}),
    run: ({ leaveSlot, ...claimed }) => share.run(() => takeTurn(deps, claimed, shared.isStopping)).finally(leaveSlot),
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
function createSharedClaim<Lane extends SlotLane>(
  deps: GatewayDeps,
  slots: Slots,
  { loop, claim }: SharedClaim<Lane>,
): WorkerLoop<Slotted<Lane>>['claim'] {
  let restUntil = 0
  let isNotifyDue = false
  const notifyAfter = (ms: number): void => {
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
        notifyAfter(restUntil - claimedAt)
        break
      }
      const lanes = await claim(asked, full).catch((error: unknown) => {
        // What is held already has to run.
        if (held.length === 0) throw error
        return []
      })
      held.push(...lanes.map((lane) => holdSlot(slots, { lane, claimedAt })))
      isMore = lanes.length === asked
      if (isAnyFull && !isMore) restUntil = deps.monotonicMs() + restFactor * (deps.monotonicMs() - claimedAt)
    }
    deps.meter.claimed(loop, held.length)
    return held
  }
}

function holdSlot<Lane extends SlotLane>(slots: Slots, claimed: ClaimedLane<Lane>): Slotted<Lane> {
  return { ...claimed, leaveSlot: slots.take(claimed.lane) }
}

/** Says once that nothing goes on, and who holds the slots. */
function warnWhenSlotsAreStuck(deps: GatewayDeps, slots: Slots, onRound: () => void): () => void {
  let isReported = false
  return () => {
    onRound()
    const use = slots.use()
    const [most] = use.holders
    if (isStandstill(use) && !isReported && most !== undefined) {
      const { agent, connection, used, oldestMs } = most
      deps.log.warn('slots_full', { agent, connection, held: used, count: use.slots, ms: Math.round(oldestMs) })
    }
    isReported = isStandstill(use)
  }
}

/** A flood of one connection, or a vendor that is slow to answer, leaves slots to the sends of others. */
function createSendSlots({ turnPolicy, connections, monotonicMs }: GatewayDeps): Slots {
  const { sendSlots } = turnPolicy
  const reserved = { slots: sendSlots, reservedSlots: Math.ceil(sendSlots / 8) }
  return createSlots(sendSlots, slotShares(reserved, { agents: 1, connections: connections.length }), monotonicMs)
}

function sendWorker(deps: GatewayDeps, shared: Shared): WorkerLoop<Slotted<Parameters<typeof dispatchLane>[1]>> {
  const dispatch = {
    ...deps,
    store: deps.results.store,
    policy: deps.settlePolicy,
    leaseMs: deps.turnPolicy.leaseMs,
    adapterFor: findAdapterByConnection(deps),
    outcomeWords,
    welcomeWords: say('pairing.welcomed'),
  }
  return {
    ...shared,
    slots: deps.turnPolicy.sendSlots,
    wakeup: deps.wakeups.sends,
    claim: createSharedClaim(deps, createSendSlots(deps), {
      loop: 'sends',
      claim: (limit, { connections }) => deps.outbox.claim(limit, connections),
    }),
    async run({ lane, claimedAt, leaveSlot }) {
      await dispatchLane(dispatch, lane, claimedAt).finally(leaveSlot)
      deps.wakeups.ends.notify()
      deps.wakeups.live.notify()
    },
  }
}

/** Timers become signals in their lanes; the rest is an ordinary turn. */
function timerWorker(deps: GatewayDeps, shared: Shared): WorkerLoop<never> {
  return {
    ...shared,
    slots: shared.batch,
    wakeup: deps.wakeups.timers,
    async claim(limit) {
      for (let fired = limit; fired === limit && !shared.isStopping(); ) {
        fired = await deps.signals.fireDue(limit)
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

/** A lease counts from before it was asked for: what the claim itself took is already spent. */
function claimWithTime<Lane>(
  deps: GatewayDeps,
  loop: WorkerLoopName,
  claim: (limit: number) => Promise<readonly Lane[]>,
) {
  return async (limit: number) => {
    const claimedAt = deps.monotonicMs()
    const lanes = await claim(limit)
    deps.meter.claimed(loop, lanes.length)
    return lanes.map((lane) => ({ lane, claimedAt }))
  }
}

function findAdapterByConnection(deps: GatewayDeps) {
  return (tenant: string, connection: string) =>
    deps.connections.find((each) => each.key === connection && each.connection.tenant === tenant)?.adapter
}

function logWorkerError(deps: GatewayDeps): Shared['onError'] {
  return (error, work) => {
    deps.log.error('drain_failed', {
      ...(work === undefined ? {} : claimedWorkLogFields(work)),
      ...errorLogFields(error, 'internal'),
    })
  }
}

/** By which `explain` finds it: the first message, the turn, or the first call of what was in hand. */
function claimedWorkLogFields({ lane: { connection, conversationId, messages, openTurn, calls } }: Claimed): LogFields {
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
