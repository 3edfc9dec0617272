// How a run ended, in one vocabulary for every surface: `agents-api.run-outcome` version 1. Nothing but a natural end
// looks like success.
import type { Fields } from '../../contract/index.ts'

export const outcomeSchemaId = 'agents-api.run-outcome'

export const outcomeStatuses = [
  'completed',
  'failed',
  'runtime_tool_pending',
  'approval_required',
  'budget_exceeded',
  'stalled',
  'cancelled',
  'interrupted',
  'contention',
  'incomplete',
] as const

export type OutcomeStatus = (typeof outcomeStatuses)[number]

export type RunOutcome = {
  readonly schema: typeof outcomeSchemaId
  readonly version: 1
  readonly status: OutcomeStatus
  readonly completed: boolean
  readonly stop_reason: string
  readonly retryable: boolean
  readonly failure?: Fields
  readonly assertions?: Fields
  readonly provider_error?: Fields
  readonly metadata?: Fields
}

/** What the outcome is read from: the result around it, and what the caller said of it before. */
export type OutcomeSource = {
  readonly status?: unknown
  readonly completed?: unknown
  readonly budget?: unknown
  readonly failure?: unknown
  readonly run_outcome?: unknown
}

/** Statuses of a result that are outcomes as they stand. */
const carriedOver = new Map<unknown, OutcomeStatus>([
  ['runtime_tool_pending', 'runtime_tool_pending'],
  ['approval_required', 'approval_required'],
  ['budget_exceeded', 'budget_exceeded'],
  ['stalled', 'stalled'],
  ['interrupted', 'interrupted'],
  ['cancelled', 'cancelled'],
  ['transcript_lock_contention', 'contention'],
])

const retryableStatuses: ReadonlySet<OutcomeStatus> = new Set(['budget_exceeded', 'failed', 'contention'])

export function runOutcome(source: OutcomeSource): RunOutcome {
  const given = outcomeFields(source.run_outcome)
  const failure = outcomeFields(source.failure)
  const status = outcomeStatus(given['status'], source)
  const stopReason = textOrDefault(given['stop_reason'], outcomeStopReason(status, source))
  const hasFailure = Object.keys(failure).length > 0
  return {
    schema: outcomeSchemaId,
    version: 1,
    status,
    completed: status === 'completed',
    stop_reason: stopReason,
    retryable: flagOrDefault(given['retryable'], flagOrDefault(failure['retryable'], retryableStatuses.has(status))),
    ...(hasFailure ? { failure } : {}),
    ...(isOutcomeRecord(given['assertions']) ? { assertions: given['assertions'] } : {}),
    ...(stopReason === 'provider_error' && hasFailure ? { provider_error: failure } : {}),
    ...(isOutcomeRecord(given['metadata']) ? { metadata: given['metadata'] } : {}),
  }
}

function outcomeStatus(given: unknown, source: OutcomeSource): OutcomeStatus {
  const known = outcomeStatuses.find((status) => status === given)
  if (known !== undefined) return known
  const carried = carriedOver.get(source.status)
  if (carried !== undefined) return carried
  if (source.status === 'failed' || isOutcomeRecord(source.failure)) return 'failed'
  return source.completed === false ? 'incomplete' : 'completed'
}

function outcomeStopReason(status: OutcomeStatus, source: OutcomeSource): string {
  if (status === 'budget_exceeded' && source.budget === 'turns') return 'max_turns'
  if (status === 'failed') return 'provider_error'
  return status === 'completed' ? 'natural' : status
}

function textOrDefault(value: unknown, otherwise: string): string {
  return typeof value === 'string' && value !== '' ? value : otherwise
}

function flagOrDefault(value: unknown, otherwise: boolean): boolean {
  return typeof value === 'boolean' ? value : otherwise
}

function outcomeFields(value: unknown): Fields {
  return isOutcomeRecord(value) ? value : {}
}

function isOutcomeRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
