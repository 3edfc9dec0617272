// What the developer's own code threw in one try of a turn: kept in the run's log for operators, with a line in the gateway's log.
// Stored with the turn, so it is erased with it.
import type { AgentContext, ToolCallFacts } from '../agent/context.ts'
import {
  describeError,
  type ErrorSource,
  errorLogFields,
  type Fields,
  isGatewayError,
  type JsonObject,
  type LogFields,
} from '../contract/index.ts'
import type { GatewayDeps } from './deps.ts'
import type { ReadyTurn } from './prepare-turn.ts'

/** The type of these events. They are for operators: nothing that people or callers can ask for shows them. */
const exceptionType = 'exception'

export type TurnErrors = {
  readonly report: AgentContext['report']
  /** While a run writes its log, errors take their place in it. */
  readonly writeTo: (emit: (type: string, metadata: Fields) => void) => void
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

type Deps = Pick<GatewayDeps, 'log' | 'meter' | 'audit' | 'runs' | 'secretValues'>

export function createTurnErrors(deps: Deps, ready: ReadyTurn): TurnErrors {
  const known = new Set<unknown>()
  const watchers = new Set<string>()
  let count = 0
  let emit: ((type: string, metadata: Fields) => void) | undefined
  const takeError = (error: unknown, source: ErrorSource, isLast: boolean): JsonObject | undefined => {
    if (known.has(error) || (count >= maxReports && !isLast) || isTransientTurnError(error)) return undefined
    if (typeof error === 'object') known.add(error)
    const thrown = describeError(error, [...(deps.secretValues ?? []), ...(source.hide ?? [])])
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
  return {
    report(error, source = { source: 'agent' }) {
      const metadata = takeError(error, source, false)
      if (metadata !== undefined) emit?.(exceptionType, metadata)
    },
    writeTo(write) {
      emit = write
    },
    async failed(error) {
      const metadata = takeError(error, { source: 'agent' }, true)
      if (metadata === undefined) return
      const { lane, turn } = ready
      const event = { type: exceptionType, metadata }
      // What cannot be stored changes nothing about the failure; the log has its class and place.
      await deps.runs
        .append(lane, turn.id, turn.attempt, [{ key: `${lane.epoch}:failed`, event }])
        .catch(() => undefined)
    },
    toolCalled: (facts) => toolCalled(deps, ready, facts),
  }
}

function logTurnError(
  { log }: Deps,
  ready: ReadyTurn,
  { source, name, agent }: ErrorSource,
  error: unknown,
  thrown: ReturnType<typeof describeError>,
): void {
  const { lane, turn } = ready
  const { connection } = lane
  const place: LogFields = {
    connection,
    trace: turn.traceId,
    turn: turn.id,
    agent: agent ?? lane.agent,
    attempt: turn.attempt,
  }
  const facts = { ...place, ...errorLogFields(error, `${source}_failed`) }
  if (source === 'tool') log.warn('tool_failed', { ...facts, tool: name ?? null }, thrown)
  else log.warn('hook_failed', { ...facts, hook: source }, thrown)
}

async function toolCalled(
  { meter, audit, log }: Deps,
  { lane, turn, members }: ReadyTurn,
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
    await audit.record({ ...line, detail: { tool } })
  } catch (error) {
    // The call stays denied, and the turn goes on.
    log.warn('audit_failed', { connection, turn: turn.id, ...errorLogFields(error, 'internal') })
  }
}

function isTransientTurnError(error: unknown): boolean {
  return isGatewayError(error) && passing.includes(error.code)
}
