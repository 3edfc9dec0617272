// A message that is the result of a tool its sender ran: the turn takes the paused run on itself, so that its sender gets
// the answer.
import { submittedResult } from '../agent/runtime-tools/tool-answer.ts'
import type { Json, NormalizedMessage } from '../contract/index.ts'
import type { ToolRequestLine } from '../db/tool-requests.ts'
import type { GatewayDeps } from './deps.ts'
import type { ReadyTurn } from './prepare-turn.ts'

type Reported = NonNullable<NonNullable<NormalizedMessage['channel']>['tool_result']>

/** The id of the request this turn has answered, now or before it was interrupted; or why it has not. */
export async function answeredRequest(
  deps: Pick<GatewayDeps, 'toolRequests'>,
  { lane, turn }: ReadyTurn,
  reported: Reported,
): Promise<{ readonly id: string } | { readonly refusal: string }> {
  const principal = turn.principal ?? ''
  const scope = { tenant: lane.tenant, owner: principal, conversationId: lane.conversationId }
  const request = await deps.toolRequests.findByCall(scope, reported.tool_call_id)
  if (request === undefined) return { refusal: 'No tool waits for this result here.' }
  const metadata = { origin: turn.id }
  const answer = submittedResult(
    reported.error === undefined
      ? { result: parseJsonOrText(reported.content), metadata }
      : { error: reported.error.slice(0, 2000), metadata },
  )
  const answered = await deps.toolRequests.answer(scope, request.id, { ...answer, isTakenOn: true }, principal)
  if (answered.kind === 'refused') return { refusal: 'This result came too late: I have gone on without it.' }
  if (answered.isDuplicate && toolResultOrigin(answered.request) !== turn.id)
    return { refusal: 'This tool was answered before; the first answer stays.' }
  return { id: request.id }
}

function parseJsonOrText(content: string): Json {
  try {
    return JSON.parse(content) as Json
  } catch {
    return content
  }
}

function toolResultOrigin({ result }: ToolRequestLine): unknown {
  const metadata = result?.['metadata']
  return typeof metadata === 'object' && metadata !== null && 'origin' in metadata ? metadata['origin'] : undefined
}
