// The port of tools that a client runs. Requests are stored by the commit that ends the paused turn and time out by a
// timer of it; here they are looked at and answered, once.
import type { JsonObject } from '../../contract/index.ts'

export const toolRequestStatuses = ['runtime_tool_pending', 'runtime_tool_completed', 'runtime_tool_timeout'] as const

export type ToolRequestStatus = (typeof toolRequestStatuses)[number]

export type ToolRequestLine = {
  readonly id: string
  readonly request_id: string
  readonly status: ToolRequestStatus
  readonly tool_name: string
  readonly tool_call_id: string
  /** As every reader may see it: parameters without secrets. */
  readonly request: JsonObject
  readonly agent: string
  readonly owner: string
  readonly run_id: string
  readonly session_id: string
  readonly conversation_id: string
  readonly created_at: string
  readonly timeout_at: string | null
  readonly resolved_at: string | null
  readonly resolver: string | null
  readonly cancelled: boolean
  readonly result: JsonObject | null
}

export type ToolRequestScope = {
  readonly tenant: string
  readonly owner: string | null
  readonly conversationId: string | null
}

export type ToolRequestFilter = {
  readonly status: ToolRequestStatus | null
  readonly limit: number
  /** The id of the last one seen; ids sort by time. */
  readonly before: string | null
}

export type ToolAnswer = {
  readonly status: Exclude<ToolRequestStatus, 'runtime_tool_pending'>
  readonly result: JsonObject
  /** The answer comes in a turn that goes on with the run itself: no other worker need be woken. */
  readonly isTakenOn?: boolean
}

export type Answered =
  /** `isDuplicate`: it was over before; what it came to then stays. */
  | { readonly kind: 'answered'; readonly request: ToolRequestLine; readonly isDuplicate: boolean }
  | { readonly kind: 'refused'; readonly reason: 'not_found' | 'not_pending'; readonly request: ToolRequestLine | null }

/** Everything, for the run that goes on. */
export type StoredToolRequest = {
  readonly id: string
  readonly status: Exclude<ToolRequestStatus, 'runtime_tool_pending'>
  readonly isCancelled: boolean
  readonly result: JsonObject | null
  readonly sessionId: string
  /** Null: the run went on and what it needed is erased. */
  readonly resume: JsonObject | null
}

export interface ToolRequestStore {
  /** By its id or its request id. `parameters`: as the tool must be given them, as long as it waits. */
  get(
    scope: ToolRequestScope,
    id: string,
  ): Promise<{ readonly request: ToolRequestLine; readonly parameters: JsonObject } | undefined>
  list(scope: ToolRequestScope, filter: ToolRequestFilter): Promise<readonly ToolRequestLine[]>
  /** The one of a conversation that waits for the result of this call. */
  findByCall(scope: ToolRequestScope, toolCallId: string): Promise<ToolRequestLine | undefined>
  /** Compare and set, with the signal that wakes the paused run, in one statement. */
  answer(scope: ToolRequestScope, id: string, answer: ToolAnswer, resolver: string): Promise<Answered>
  load(tenant: string, id: string): Promise<StoredToolRequest | undefined>
}
