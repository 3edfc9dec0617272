// Client tools: the request for a tool that a client runs, what of it other readers may see, and the result the client reports.

import type { ToolAnswer } from '../db/tool-requests.ts'
import { isPlainObject, sha256Hex } from '../lib/index.ts'
import type { Json, JsonObject } from '../lib/json-value.ts'
import type { ToolRequestWish } from './approvals/pauses.ts'

type RequestFacts = { readonly requestId: string; readonly runId: string; readonly timeoutAt: string }

/** From the turn and not from the run: run ids are the caller's, and two callers may choose the same. */
export async function toolRequestId(turnId: string, { name, callId }: ToolRequestWish['tool']): Promise<string> {
  return `runtime-tool-${await sha256Hex(JSON.stringify([turnId, name, callId]))}`
}

export function toolRequestToJson({ tool, shown, request }: ToolRequestWish, facts: RequestFacts): JsonObject {
  return {
    status: 'runtime_tool_pending',
    request_id: facts.requestId,
    tool_name: tool.name,
    ...(tool.declared_name === undefined ? {} : { declared_name: tool.declared_name }),
    tool_call_id: tool.callId,
    parameters: shown,
    run_id: facts.runId,
    timeout_at: facts.timeoutAt,
    runtime: request['runtime'] ?? {},
    metadata: request['metadata'] ?? {},
  }
}

// A report is a result or an error, never both.

export type Submission =
  | { readonly result: Json; readonly metadata?: JsonObject | undefined }
  | { readonly error: string; readonly metadata?: JsonObject | undefined }

export function toSubmittedAnswer(given: Submission): ToolAnswer {
  const facts = { status: 'runtime_tool_submitted', metadata: given.metadata ?? {} }
  const result =
    'error' in given
      ? { ...facts, success: false, error: given.error }
      : { ...facts, success: true, result: isPlainObject(given.result) ? given.result : { value: given.result } }
  return { status: 'runtime_tool_completed', result: result as JsonObject }
}

/** A cancel is a timeout brought about by hand. */
export function toCancelledAnswer(): ToolAnswer {
  return { status: 'runtime_tool_timeout', result: { status: 'runtime_tool_timeout', success: false, cancelled: true } }
}
