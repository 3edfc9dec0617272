// What a run keeps of its tool calls: results, events, audit.
import type { Fields } from '../../contract/index.ts'

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
