// The result of a run: `agents-api.conversation-result` version 1. Validated, its messages canonical, two blocks derived.

import type { Envelope } from '../../contract/gateway-events.ts'
import { GatewayError } from '../../lib/errors.ts'
import { isObjectRecord } from '../../lib/index.ts'
import type { Fields } from '../../lib/json-value.ts'
import { normalizeMessage } from '../messages.ts'
import type { LoopRecord } from './events.ts'
import {
  summarizeToolCalls,
  type ToolAudit,
  type ToolEvent,
  type ToolExecution,
  type ToolObservability,
} from './tool-records.ts'

export const resultSchemaId = 'agents-api.conversation-result'

/** Unknown keys are kept: `error`, `warning`, `last_tool_calls` and assertions of a host pass through. */
export type ConversationResult = {
  readonly schema: typeof resultSchemaId
  readonly version: 1
  readonly messages: readonly Envelope[]
  readonly final_content: string
  readonly turn_count: number
  readonly completed: boolean
  readonly tool_execution_results: readonly ToolExecution[]
  readonly tool_audit_events: readonly ToolAudit[]
  readonly tool_events: readonly ToolEvent[]
  readonly events: readonly LoopRecord[]
  readonly usage: Readonly<Record<string, unknown>>
  readonly request_metadata: Fields
  readonly tool_observability: ToolObservability
  readonly run_outcome: RunOutcome
  readonly status?: string
  readonly budget?: string
  readonly metadata?: Fields
  readonly provider_diagnostics?: readonly Fields[]
  readonly structured_output?: unknown
  readonly structured_output_diagnostics?: Fields
  readonly stalled?: Fields
  readonly approval_required?: Fields
  readonly runtime_tool_pending?: Fields
  readonly interrupted?: Fields
  readonly failure?: Fields
  readonly [more: string]: unknown
}

export function normalizeResult(input: Fields): ConversationResult {
  if ((input['schema'] ?? resultSchemaId) !== resultSchemaId)
    throw invalidConversationResultError('schema', 'is not ours')
  if ((input['version'] ?? 1) !== 1) throw invalidConversationResultError('version', 'must be 1')
  const executions = readResultList(input, 'tool_execution_results').map(requireToolExecution)
  const toolEvents = readResultList(input, 'tool_events').map(requireToolEvent)
  const audits = readResultList(input, 'tool_audit_events').map(requireToolAudit)
  checkOptionalFieldType(input, 'status', isNonEmptyText)
  checkOptionalFieldType(input, 'budget', isNonEmptyText)
  checkOptionalFieldType(input, 'completed', (value) => typeof value === 'boolean')
  for (const key of ['stalled', 'approval_required', 'runtime_tool_pending', 'interrupted', 'metadata'])
    checkOptionalFieldType(input, key, isObjectRecord)
  const outcome = readRunOutcome(input)
  return {
    ...input,
    schema: resultSchemaId,
    version: 1,
    messages: readResultMessages(input),
    final_content: typeof input['final_content'] === 'string' ? input['final_content'] : '',
    turn_count: Number.isInteger(input['turn_count']) ? Number(input['turn_count']) : 0,
    completed: outcome.completed,
    tool_execution_results: executions,
    tool_audit_events: audits,
    tool_events: toolEvents,
    events: readResultList(input, 'events') as readonly LoopRecord[],
    usage: isObjectRecord(input['usage']) ? input['usage'] : noUsage,
    request_metadata: isObjectRecord(input['request_metadata']) ? input['request_metadata'] : {},
    ...readResultFailure(input),
    ...readOutputDiagnostics(input),
    tool_observability: summarizeToolCalls(toolEvents, executions),
    run_outcome: outcome,
  }
}

export const noUsage: Readonly<Record<string, unknown>> = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }

/** Numbers add up; of anything else the last value stays. */
export function addUsage(sum: Readonly<Record<string, unknown>>, turn: Readonly<Record<string, unknown>>) {
  const total: Record<string, unknown> = { ...sum }
  for (const [key, value] of Object.entries(turn)) {
    const before = total[key]
    total[key] = typeof value === 'number' && typeof before === 'number' ? before + value : value
  }
  return total
}

function readResultMessages(input: Fields): readonly Envelope[] {
  const { messages } = input
  if (!Array.isArray(messages)) throw invalidConversationResultError('messages', 'must be an array')
  return messages.map((message) => normalizeMessage(message))
}

function requireToolExecution(entry: unknown, index: number): ToolExecution {
  const at = `tool_execution_results[${index}]`
  const given = requireObjectAt(entry, at)
  requireText(given, 'tool_name', at)
  for (const key of ['result', 'parameters'])
    if (!isObjectRecord(given[key])) throw invalidConversationResultError(`${at}.${key}`, 'must be a map')
  requireInteger(given, 'turn_count', at)
  // Every field the type names was just checked.
  return given as unknown as ToolExecution
}

function requireToolEvent(entry: unknown, index: number): ToolEvent {
  const at = `tool_events[${index}]`
  const given = requireObjectAt(entry, at)
  for (const key of ['type', 'tool_name', 'tool_call_id']) requireText(given, key, at)
  requireInteger(given, 'turn_count', at)
  return given as unknown as ToolEvent
}

function requireToolAudit(entry: unknown, index: number): ToolAudit {
  const at = `tool_audit_events[${index}]`
  const given = requireObjectAt(entry, at)
  for (const key of ['type', 'tool_name', 'tool_call_id', 'parameters_sha256', 'result_sha256'])
    requireText(given, key, at)
  for (const key of ['schema_version', 'turn_count']) requireInteger(given, key, at)
  if (typeof given['success'] !== 'boolean') throw invalidConversationResultError(`${at}.success`, 'must be a boolean')
  return given as unknown as ToolAudit
}

function readResultFailure(input: Fields): { failure?: Fields } {
  if (input['failure'] === undefined) return {}
  const failure = requireObjectAt(input['failure'], 'failure')
  for (const key of ['type', 'message']) requireText(failure, key, 'failure')
  return { failure }
}

/** What a host may see of how structured output was read: four plain facts, never the provider's text. */
function readOutputDiagnostics(input: Fields): { structured_output_diagnostics?: Fields } {
  const given = input['structured_output_diagnostics']
  if (!isObjectRecord(given)) return {}
  const kept = ['status', 'code', 'parser', 'valid'].filter((key) =>
    ['string', 'boolean', 'number'].includes(typeof given[key]),
  )
  return { structured_output_diagnostics: Object.fromEntries(kept.map((key) => [key, given[key]])) }
}

function readResultList(input: Fields, key: string): readonly unknown[] {
  const value = input[key] ?? []
  if (!Array.isArray(value)) throw invalidConversationResultError(key, 'must be an array')
  return value
}

function checkOptionalFieldType(input: Fields, key: string, is: (value: unknown) => boolean): void {
  if (input[key] !== undefined && !is(input[key])) throw invalidConversationResultError(key, 'has the wrong type')
}

function requireObjectAt(value: unknown, at: string): Fields {
  if (!isObjectRecord(value)) throw invalidConversationResultError(at, 'must be a map')
  return value
}

function requireText(given: Fields, key: string, at: string): void {
  if (!isNonEmptyText(given[key])) throw invalidConversationResultError(`${at}.${key}`, 'must be a non-empty string')
}

function requireInteger(given: Fields, key: string, at: string): void {
  if (!Number.isInteger(given[key])) throw invalidConversationResultError(`${at}.${key}`, 'must be an integer')
}

function isNonEmptyText(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

function invalidConversationResultError(path: string, reason: string): GatewayError {
  return new GatewayError('agent_failed', `invalid_agent_conversation_result: ${path} ${reason}`)
}

// How a run ended, in one vocabulary for every surface: `agents-api.run-outcome` version 1. Nothing but a natural end
// looks like success.

const outcomeSchemaId = 'agents-api.run-outcome'

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

type RunOutcome = {
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

function readRunOutcome(source: OutcomeSource): RunOutcome {
  const given = outcomeFieldsOrEmpty(source.run_outcome)
  const failure = outcomeFieldsOrEmpty(source.failure)
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

function outcomeFieldsOrEmpty(value: unknown): Fields {
  return isOutcomeRecord(value) ? value : {}
}

function isOutcomeRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
