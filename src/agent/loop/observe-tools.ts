// What tools did, without a word of what they were given or answered: for logs, metrics and strangers.
import type { Fields } from '../../contract/index.ts'
import type { ToolEvent, ToolExecution } from './tool-records.ts'

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

export function observeTools(events: readonly ToolEvent[], executions: readonly ToolExecution[]): ToolObservability {
  const ends = [...events.filter((event) => event.type !== 'tool_call')]
  const done = [...executions]
  const calls = events
    .filter((event) => event.type === 'tool_call')
    .map((event, index) => {
      const end = takeFirst(ends, (each) => each.tool_call_id === event.tool_call_id)
      const execution = takeFirst(done, (each) => each.tool_call_id === event.tool_call_id)
      return observeCall(index + 1, event, end, execution)
    })
  return { version: 1, calls }
}

function observeCall(
  sequence: number,
  event: ToolEvent,
  end: ToolEvent | undefined,
  execution: ToolExecution | undefined,
): ObservedCall {
  const status = observedStatus(end, execution)
  const keys = Object.keys(execution?.parameters ?? objectOrNoFields(event.metadata?.['parameters'])).toSorted()
  return {
    sequence,
    turn: event.turn_count,
    tool_call_id: event.tool_call_id,
    tool_name: execution?.tool_name ?? event.tool_name,
    status,
    arguments: { keys, count: keys.length, redacted: true },
    ...(status === 'succeeded' ? { result: describeShape(execution?.result['result']) } : {}),
    ...(status === 'failed' ? { error: failed } : {}),
    ...(status === 'rejected' ? { error: rejected } : {}),
  }
}

function observedStatus(end: ToolEvent | undefined, execution: ToolExecution | undefined): ObservedCall['status'] {
  if (end?.metadata?.['rejected'] === true) return 'rejected'
  if (execution === undefined || end?.type === 'runtime_tool_pending') return 'pending'
  return execution.result['success'] === true ? 'succeeded' : 'failed'
}

function describeShape(value: unknown): Fields {
  if (Array.isArray(value)) return { type: 'array', count: value.length }
  if (typeof value === 'string') return { type: 'string', size: new TextEncoder().encode(value).length }
  if (value === null || value === undefined) return { type: 'null' }
  return typeof value === 'object' ? { type: 'object', count: Object.keys(value).length } : { type: typeof value }
}

/** The first that fits, and only once: call ids may repeat. */
function takeFirst<T>(list: T[], fits: (item: T) => boolean): T | undefined {
  const index = list.findIndex(fits)
  return index === -1 ? undefined : list.splice(index, 1)[0]
}

function objectOrNoFields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}
