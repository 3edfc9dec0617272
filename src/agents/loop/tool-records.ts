// Records of a run's tool calls: results, events, audit.

import { sha256OfJson } from '../../lib/index.ts'
import type { Fields } from '../../lib/json-value.ts'
import { redactParameters, type Sensitivity } from '../tools/redact.ts'
import type { ToolResult } from '../tools/tool.ts'

export type ToolExecution = {
  readonly tool_name: string
  readonly result: Fields
  readonly parameters: Fields
  readonly turn_count: number
  readonly tool_call_id?: string
  readonly parameters_sha256?: string
  readonly parameters_redacted?: boolean
  readonly runtime?: Fields
  readonly is_handler_tool?: boolean
  readonly diagnostics?: Fields
}

export type ToolEvent = {
  readonly type: string
  readonly tool_name: string
  readonly tool_call_id: string
  readonly turn_count: number
  readonly status?: string
  readonly metadata?: Fields
}

export type ToolAudit = {
  readonly schema_version: number
  readonly type: string
  readonly tool_name: string
  readonly tool_call_id: string
  readonly turn_count: number
  readonly parameters_sha256: string
  readonly result_sha256: string
  readonly success: boolean
  readonly error_type?: string
  readonly [more: string]: unknown
}

// Observations hold no word of what tools were given or answered: they are for logs, metrics and strangers.

export type ObservedCall = {
  readonly sequence: number
  readonly turn: number
  readonly tool_call_id: string
  readonly tool_name: string
  readonly status: 'pending' | 'succeeded' | 'failed' | 'rejected'
  readonly arguments: { readonly keys: readonly string[]; readonly count: number; readonly redacted: true }
  readonly result?: Fields
  readonly error?: { readonly code: string; readonly message: string }
}

export type ToolObservability = { readonly version: 1; readonly calls: readonly ObservedCall[] }

const failed = { code: 'agents_api_tool_execution_failed', message: 'Tool execution failed.' } as const
const rejected = { code: 'agents_api_tool_call_rejected', message: 'Tool call was rejected.' } as const

export function summarizeToolCalls(
  events: readonly ToolEvent[],
  executions: readonly ToolExecution[],
): ToolObservability {
  const ends = [...events.filter((event) => event.type !== 'tool_call')]
  const done = [...executions]
  const calls = events
    .filter((event) => event.type === 'tool_call')
    .map((event, index) => {
      const end = takeFirstMatch(ends, (each) => each.tool_call_id === event.tool_call_id)
      const execution = takeFirstMatch(done, (each) => each.tool_call_id === event.tool_call_id)
      return summarizeToolCall(index + 1, event, end, execution)
    })
  return { version: 1, calls }
}

function summarizeToolCall(
  sequence: number,
  event: ToolEvent,
  end: ToolEvent | undefined,
  execution: ToolExecution | undefined,
): ObservedCall {
  const status = observedCallStatus(end, execution)
  const keys = Object.keys(execution?.parameters ?? objectOrNoFields(event.metadata?.['parameters'])).toSorted()
  return {
    sequence,
    turn: event.turn_count,
    tool_call_id: event.tool_call_id,
    tool_name: execution?.tool_name ?? event.tool_name,
    status,
    arguments: { keys, count: keys.length, redacted: true },
    ...(status === 'succeeded' ? { result: describeJsonShape(execution?.result['result']) } : {}),
    ...(status === 'failed' ? { error: failed } : {}),
    ...(status === 'rejected' ? { error: rejected } : {}),
  }
}

function observedCallStatus(end: ToolEvent | undefined, execution: ToolExecution | undefined): ObservedCall['status'] {
  if (end?.metadata?.['rejected'] === true) return 'rejected'
  if (execution === undefined || end?.type === 'runtime_tool_pending') return 'pending'
  return execution.result['success'] === true ? 'succeeded' : 'failed'
}

function describeJsonShape(value: unknown): Fields {
  if (Array.isArray(value)) return { type: 'array', count: value.length }
  if (typeof value === 'string') return { type: 'string', size: new TextEncoder().encode(value).length }
  if (value === null || value === undefined) return { type: 'null' }
  return typeof value === 'object' ? { type: 'object', count: Object.keys(value).length } : { type: typeof value }
}

/** The first that fits, and only once: call ids may repeat. */
function takeFirstMatch<T>(list: T[], fits: (item: T) => boolean): T | undefined {
  const index = list.findIndex(fits)
  return index === -1 ? undefined : list.splice(index, 1)[0]
}

function objectOrNoFields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

// The audit of a call has hashes instead of contents. The whole result is hashed, so that it can be proven later what the tool
// answered.

export type AuditedCall = {
  readonly turn: number
  readonly toolName: string
  readonly toolCallId: string
  readonly source?: string | undefined
  readonly parametersSha256: string
  /** As the tool returned it, before it was shortened. */
  readonly result: ToolResult
}

export async function createToolAudit(audited: AuditedCall): Promise<ToolAudit> {
  const { result, source } = audited
  const errorType = result.success ? undefined : result.metadata['error_type']
  return {
    schema_version: 1,
    type: 'tool_call',
    turn_count: audited.turn,
    tool_name: audited.toolName,
    tool_call_id: audited.toolCallId,
    ...(source === undefined || source === '' ? {} : { tool_source: source }),
    parameters_sha256: audited.parametersSha256,
    parameters_redacted: true,
    success: result.success,
    result_status: result.success ? 'success' : 'error',
    result_sha256: await sha256OfJson(result),
    ...(typeof errorType === 'string' && errorType !== '' ? { error_type: errorType } : {}),
  }
}

export type HashedParameters = { readonly redacted: Fields; readonly parameters_sha256: string }

/** Parameters as events, transcripts and audits carry them. */
export async function redactAndHashParameters(parameters: Fields, declared?: Sensitivity): Promise<HashedParameters> {
  const redacted = redactParameters(parameters, declared)
  return { redacted, parameters_sha256: await sha256OfJson(redacted) }
}
