// The request for a tool that a client runs: what the client is asked for, and what of it other readers may see.
import type { JsonObject } from '../../contract/index.ts'
import { sha256Hex } from '../../lib/index.ts'
import type { ToolRequestWish } from '../approvals/pauses.ts'

type RequestFacts = { readonly requestId: string; readonly runId: string; readonly timeoutAt: string }

/** From the turn and not from the run: run ids are the caller's, and two callers may choose the same. */
export async function toolRequestId(turnId: string, { name, callId }: ToolRequestWish['tool']): Promise<string> {
  return `runtime-tool-${await sha256Hex(JSON.stringify([turnId, name, callId]))}`
}

export function shownRequest({ tool, shown, request }: ToolRequestWish, facts: RequestFacts): JsonObject {
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
