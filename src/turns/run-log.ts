// The event log of a run while it is written: buffered for a tenth of a second, so that a stream of words is a few rows and a
// fast run costs no statement of its own. Only what is committed is ever shown to a client.

import type { AgentContext, ToolCallFacts } from '../agents/context.ts'
import type { Signal } from '../agents/define-agent.ts'
import type { Observer } from '../contract/gateway-events.ts'
import type { Meter } from '../contract/metrics.ts'
import { recordAudit } from '../db/audit.ts'
import type { Db } from '../db/client.ts'
import { type AppendOutcome, appendRunEvents } from '../db/runs.ts'
import type { NewRunEvent } from '../db/turn-rows.ts'
import { type ErrorSource, isGatewayError, toRedactedErrorRecord } from '../lib/errors.ts'
import { toJson } from '../lib/index.ts'
import type { Fields, JsonObject } from '../lib/json-value.ts'
import type { Log } from '../lib/log.ts'
import { errorLogFields, type LogFields } from '../lib/log.ts'
import { type TurnContext, turnEventFields } from './turn-context.ts'

export type RunRecorder = {
  readonly emit: (type: string, metadata: Fields) => void
  readonly show: (delta: string) => void
  /** What is not stored yet, for the commit that ends the turn. Nothing is stored by itself after this. */
  readonly rest: () => Promise<readonly NewRunEvent[]>
}

export type RunRecorderDeps = {
  /** Tells one try of the run from every other; a waited-out outage is another try of the same attempt. */
  readonly tryId: number
  readonly isFirstTry: boolean
  readonly append: (events: readonly NewRunEvent[]) => Promise<AppendOutcome>
  readonly onStored: (outcome: AppendOutcome) => void
}

const flushMs = 100
const maxEventBytes = 64 * 1024
/** Longer runs of words are cut into several events. */
const maxDeltaLength = 16_000
/** Per try; what a run says beyond this is dropped. */
const maxEvents = 2_000

export function createRunRecorder({ tryId, isFirstTry, append, onStored }: RunRecorderDeps): RunRecorder {
  let waiting: NewRunEvent[] = []
  let words = ''
  let count = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  let storing: Promise<void> | undefined
  let isOver = false

  const addRunEvent = (type: string, metadata: Fields): void => {
    if (count > maxEvents) return
    count += 1
    const event =
      count > maxEvents ? { type: 'truncated', metadata: { max_events: maxEvents } } : limitEventSize(type, metadata)
    waiting.push({ key: `${tryId}:${count}`, event })
  }
  const flushTextDelta = (): void => {
    if (words !== '') addRunEvent('text_delta', { delta: words })
    words = ''
  }
  const storeRunEvents = async (): Promise<void> => {
    flushTextDelta()
    const events = waiting
    waiting = []
    try {
      const outcome = await append(events)
      // Another process has the lane: it writes the log now.
      if (!outcome.isHeld) isOver = true
      onStored(outcome)
    } catch {
      // The same keys again change nothing, so whatever became of them, they may go with the next ones.
      waiting = [...events, ...waiting]
    }
  }
  const armFlushTimer = (): void => {
    if (isOver || timer !== undefined || storing !== undefined) return
    timer = setTimeout(() => {
      timer = undefined
      storing = storeRunEvents().finally(() => {
        storing = undefined
        if (waiting.length > 0 || words !== '') armFlushTimer()
      })
    }, flushMs)
  }
  // Watching clients replace what an earlier try showed.
  if (!isFirstTry) addRunEvent('reset', {})
  return {
    emit(type, metadata) {
      flushTextDelta()
      addRunEvent(type, metadata)
      armFlushTimer()
    },
    show(delta) {
      words += delta
      if (words.length >= maxDeltaLength) flushTextDelta()
      armFlushTimer()
    },
    async rest() {
      isOver = true
      if (timer !== undefined) clearTimeout(timer)
      await storing
      flushTextDelta()
      return waiting
    },
  }
}

/** Results as tools gave them are for observers in the process; a log holds what the transcript would. */
function limitEventSize(type: string, { original_result: _full, ...metadata }: Fields): JsonObject {
  // A map in, a map out.
  const event = { type, metadata: (toJson(metadata) ?? {}) as JsonObject }
  const bytes = JSON.stringify(event).length
  return bytes <= maxEventBytes ? event : { type, metadata: { truncated: true, bytes } }
}

// Events for observers of the gateway, with the turn they happened in.

export function notifyRunEvent(
  deps: { readonly notify: Observer; readonly log: Log; readonly meter: Meter },
  ready: TurnContext,
  name: string,
  payload: Fields,
): void {
  if (name === 'model_switched') reportModelSwitch(deps, ready, payload)
  const fields = turnEventFields(ready)
  deps.notify({ ...fields, type: `loop.${name}`, payload })
  if (name === 'runtime_tool_pending') deps.notify({ ...fields, type: 'runtime_tool.pending', payload })
}

function reportModelSwitch(
  { log, meter }: { readonly log: Log; readonly meter: Meter },
  { lane, turn }: TurnContext,
  { from, to, reason }: Fields,
): void {
  const { agent, connection } = lane
  const facts = { agent, connection, trace: turn.traceId, turn: turn.id, from: String(from), to: String(to) }
  log.warn('model_switched', { ...facts, reason: String(reason) })
  meter.modelSwitched(agent, String(reason))
}

/** A tool that a client ran has its result, or will have none: its run goes on from here. */
export function notifyToolRequestResumed(
  deps: { readonly notify: Observer },
  ready: TurnContext,
  { pause }: Signal,
): void {
  if (pause?.kind !== 'tool_request') return
  const fields = turnEventFields(ready)
  const payload = { request_id: pause.id, status: pause.status }
  const left = pause.isCancelled ? 'cancelled' : 'timed_out'
  const end = pause.status === 'runtime_tool_completed' ? 'submitted' : left
  deps.notify({ ...fields, type: `runtime_tool.${end}`, payload })
  deps.notify({ ...fields, type: 'runtime_tool.resumed', payload })
}

// Errors of the developer's own code in one try of a turn: kept in the run's log for operators, with a line in the gateway's log.
// Stored with the turn, so they are erased with it.

/** The type of these events. They are for operators: nothing that people or callers can ask for shows them. */
const exceptionType = 'exception'

export type TurnErrors = {
  readonly report: AgentContext['report']
  /** While a run writes its log, errors take their place in it. */
  emit?: (type: string, metadata: Fields) => void
  /** The try failed by this: it is kept, unless it was reported on its way here. */
  readonly failed: (error: unknown) => Promise<void>
  readonly toolCalled: AgentContext['toolCalled']
}

/** Per try. A loop of failing calls, or a watcher that throws at every event, fills neither the database nor the log. */
const maxReports = 20

/** Not the developer's errors: the lane moved on, the process stops, our database is away, or the run was stopped. */
const passing = [
  'lease_lost',
  'stopping',
  'storage_unavailable',
  'storage_overloaded',
  'run_cancelled',
  'replay_stopped',
]

type Deps = { readonly db: Db; readonly log: Log; readonly secretValues?: readonly string[]; readonly meter: Meter }

export function createTurnErrorReporter(deps: Deps, ready: TurnContext): TurnErrors {
  const known = new Set<unknown>()
  const watchers = new Set<string>()
  let count = 0
  const logAndDescribeErrorOnce = (error: unknown, source: ErrorSource, isLast: boolean): JsonObject | undefined => {
    if (known.has(error) || (count >= maxReports && !isLast) || isGatewayCausedTurnError(error)) return undefined
    if (typeof error === 'object') known.add(error)
    const thrown = toRedactedErrorRecord(error, [...(deps.secretValues ?? []), ...(source.hide ?? [])])
    if (source.source === 'watcher') {
      // It throws at every event alike.
      if (watchers.has(thrown.message)) return undefined
      watchers.add(thrown.message)
    }
    count += 1
    // What a try failed by has its line: `turn_failed`, with what becomes of the turn. A step's error is the agent's to catch.
    if (!isLast && source.source !== 'step') logTurnError(deps, ready, source, error, thrown)
    const { hide: _, ...where } = source
    return { ...where, error: { ...thrown } as unknown as JsonObject }
  }
  const errors: TurnErrors = {
    report(error, source = { source: 'agent' }) {
      const metadata = logAndDescribeErrorOnce(error, source, false)
      if (metadata !== undefined) errors.emit?.(exceptionType, metadata)
    },
    async failed(error) {
      const metadata = logAndDescribeErrorOnce(error, { source: 'agent' }, true)
      if (metadata === undefined) return
      const { lane, turn } = ready
      const event = { type: exceptionType, metadata }
      // What cannot be stored changes nothing about the failure; the log has its class and place.
      await appendRunEvents(deps.db, lane, turn.id, turn.attempt, [{ key: `${lane.epoch}:failed`, event }]).catch(
        () => undefined,
      )
    },
    toolCalled: (facts) => countAndAuditToolCall(deps, ready, facts),
  }
  return errors
}

function logTurnError(
  { log }: Deps,
  ready: TurnContext,
  { source, name, agent }: ErrorSource,
  error: unknown,
  thrown: ReturnType<typeof toRedactedErrorRecord>,
): void {
  const { lane, turn } = ready
  const { connection } = lane
  const fields: LogFields = {
    connection,
    trace: turn.traceId,
    turn: turn.id,
    agent: agent ?? lane.agent,
    attempt: turn.attempt,
  }
  const facts = { ...fields, ...errorLogFields(error, `${source}_failed`) }
  if (source === 'tool') log.warn('tool_failed', { ...facts, tool: name ?? null }, thrown)
  else log.warn('hook_failed', { ...facts, hook: source }, thrown)
}

async function countAndAuditToolCall(
  { meter, db, log }: Deps,
  { lane, turn, members }: TurnContext,
  { tool, outcome, ms, denial }: ToolCallFacts,
): Promise<void> {
  meter.toolCalled(tool, outcome, ms)
  if (denial === undefined) return
  const { connection, agent, conversationId } = lane
  const about = {
    subject: turn.principal ?? undefined,
    connection,
    agent,
    conversationId,
    inboxId: members.at(-1)?.row.id,
  }
  const line = { action: 'tool.call', outcome: 'denied', ...denial, ...about, objectId: turn.id, traceId: turn.traceId }
  try {
    await recordAudit(db, { ...line, detail: { tool } })
  } catch (error) {
    // The call stays denied, and the turn goes on.
    log.warn('audit_failed', { connection, turn: turn.id, ...errorLogFields(error, 'internal') })
  }
}

function isGatewayCausedTurnError(error: unknown): boolean {
  return isGatewayError(error) && passing.includes(error.code)
}
