// The gateway: the journey of a message. receive() verifies, normalizes and accepts, and ends with a stored row; drain() runs
// turns and deliveries from any stored row, so that a message survives a crash.
//
//   bytes -> verify -> normalize -> accept --commit--> 2xx
//   lane  -> take turn -> identify, admit, merge -> run -> render --commit--> outbox -> deliver -> settle

import type { WatchResult } from './contract/adapter.ts'
import type { InboundMessage, RawRequest, RejectReason } from './contract/index.ts'
import type { WorkerLoopName } from './contract/metrics.ts'
import type { AcceptResult, ReceiveResult } from './contract/results.ts'
import type { Db } from './db/client.ts'
import type { Resubmission } from './db/receipts.ts'
import { fireDueTimers } from './db/transcripts.ts'
import { readMsUntilNextDue } from './db/turns.ts'
import type { GatewayDeps } from './gateway/deps.ts'
import { type Asked, type Done, runChannelOperation } from './inbound/channel-operations.ts'
import {
  acceptVerifiedMessages,
  logRejectedRequest,
  resubmitEvent,
  verifyAndStoreRequest,
  waitForAnswer,
} from './inbound/receive.ts'
import { createSenderLimits } from './inbound/sender-limits.ts'
import { type RequestTrace, startRequestTrace } from './inbound/store-events.ts'
import type { JsonObject } from './lib/json-value.ts'
import type { SlotUse } from './observability/process-metrics.ts'
import { sendCallsOfLane } from './outbound/deliver.ts'
import type { GatewayConnection } from './turns/gateway-connection.ts'
import { takeTurn } from './turns/take-turn.ts'
import { createWorkers, type DrainOptions } from './turns/workers.ts'

export type Gateway = {
  readonly connections: readonly GatewayConnection[]
  /** `isPulled`: the gateway fetched it itself. */
  readonly receive: (at: GatewayConnection, request: RawRequest, isPulled?: boolean) => Promise<ReceiveResult>
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
  readonly db: Db
  /** What others check our evidence by; undefined: nothing is signed here. */
  readonly connectorCard: () => Promise<JsonObject | undefined>
  /** Sleeps until run events were stored here, at most so long. */
  readonly waitForEvents: (ms: number) => Promise<void>
  /** A dead turn is queued again; an unparsable event is read again; `by` is written down. False: nothing to do. */
  readonly resubmit: (inboxId: string, by: string, how?: Resubmission) => Promise<boolean>
  /** What an operator asks of a channel; what that changes is one row and one commit. */
  readonly operate: (at: GatewayConnection, asked: Asked) => Promise<Done>
  /** Works until its deadline, or until nothing is due. The next drain goes on where this one stopped, here or in another process. */
  readonly drain: (options: DrainOptions) => Promise<void>
  /** Milliseconds until there is something to drain that no process holds; 0 = now, undefined = nothing waits. */
  readonly nextDueMs: () => Promise<number | undefined>
  /** Who holds the slots of this process. */
  readonly slots: () => SlotUse
  /** Milliseconds since each worker loop's last round; null before its first one. */
  readonly workerAges: () => Readonly<Record<WorkerLoopName, number | null>>
}

export function createGateway(deps: GatewayDeps): Gateway {
  const receiving = { ...deps, senderLimits: createSenderLimits(deps) }
  const workers = createWorkers(deps, {
    turn: (claimed, isStopping) => takeTurn(deps, claimed, isStopping),
    send: async ({ lane, claimedAt }) => {
      await sendCallsOfLane(deps, lane, claimedAt)
      deps.wakeups.ends.notify()
      deps.wakeups.live.notify()
    },
    timers: (limit) => fireDueTimers(deps.db, limit),
  })
  return {
    connections: deps.connections,
    receive: (at, request, isPulled) => verifyAndStoreRequest(receiving, at, request, isPulled),
    enter: (traceparent) => startRequestTrace(deps, traceparent),
    take: (at, messages, entry) => acceptVerifiedMessages(receiving, at, messages, entry),
    logRejection: (at, reason, entry) => logRejectedRequest(deps, at, reason, entry),
    watch: (inboxId, timeoutMs) => waitForAnswer(deps, inboxId, timeoutMs),
    db: deps.db,
    connectorCard: deps.attestor.card,
    waitForEvents: deps.wakeups.events.wait,
    resubmit: (inboxId, by, how) => resubmitEvent(deps, inboxId, by, how),
    operate: (at, asked) => runChannelOperation(deps, at, asked),
    async drain(options) {
      await workers.drain(options)
      await deps.presence.rest(presenceTimeoutMs)
    },
    slots: workers.slots,
    nextDueMs: () => readMsUntilNextDue(deps.db),
    workerAges: workers.ages,
  }
}

/** A presence update that is under way when everything else is done. */
const presenceTimeoutMs = 2_000
