// Requests for tools that a client runs: stored by the commit that ends the paused turn, timed out by its timer; here they are
// listed and answered, once.
import type { JsonObject } from '../lib/json-value.ts'
import { insertActAuditLinesSql } from './audit.ts'
import { type Db, isoTimeSql, nameStatement, storableJson } from './client.ts'
import { resumeSignalSql } from './resume-signal.ts'

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

type ToolRequestScope = {
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
type StoredToolRequest = {
  readonly id: string
  readonly status: Exclude<ToolRequestStatus, 'runtime_tool_pending'>
  readonly isCancelled: boolean
  readonly result: JsonObject | null
  readonly sessionId: string
  /** Null: the run went on and what it needed is erased. */
  readonly resume: JsonObject | null
}

type Shown = ToolRequestLine & { readonly parameters: JsonObject }

/** By its id or its request id. `parameters`: as the tool must be given them, as long as it waits. */
export async function getToolRequest(
  db: Db,
  scope: ToolRequestScope,
  id: string,
): Promise<{ readonly request: ToolRequestLine; readonly parameters: JsonObject } | undefined> {
  const [row] = await db.query<Shown>(getToolRequestSql, [...toolRequestScopeParams(scope), id])
  if (row === undefined) return undefined
  const { parameters, ...request } = row
  return { request, parameters }
}

export function listToolRequests(
  db: Db,
  scope: ToolRequestScope,
  { status, limit, before }: ToolRequestFilter,
): Promise<readonly ToolRequestLine[]> {
  return db.query<ToolRequestLine>(listToolRequestsSql, [...toolRequestScopeParams(scope), status, limit, before])
}

/** The one of a conversation that waits for the result of this call. */
export async function findToolRequestByCall(
  db: Db,
  scope: ToolRequestScope,
  toolCallId: string,
): Promise<ToolRequestLine | undefined> {
  return (await db.query<ToolRequestLine>(findToolRequest, [...toolRequestScopeParams(scope), toolCallId]))[0]
}

/** Compare and set, with the signal that wakes the paused run, in one statement. */
export async function answerToolRequest(
  db: Db,
  scope: ToolRequestScope,
  id: string,
  { status, result, isTakenOn = false }: ToolAnswer,
  resolver: string,
): Promise<Answered> {
  const params = [id, status, storableJson(result), resolver, db.isShared, !isTakenOn]
  const [row] = await db.query<ToolRequestLine>(answerToolRequestSql, [...toolRequestScopeParams(scope), ...params])
  if (row !== undefined) return { kind: 'answered', request: row, isDuplicate: false }
  const request = (await getToolRequest(db, scope, id))?.request ?? null
  if (request === null) return { kind: 'refused', reason: 'not_found', request }
  // A result that comes after the time was up is lost to the run; everything else repeats what there is.
  const isLate = request.status !== 'runtime_tool_completed' && status === 'runtime_tool_completed'
  if (isLate || request.status === 'runtime_tool_pending') return { kind: 'refused', reason: 'not_pending', request }
  return { kind: 'answered', request, isDuplicate: true }
}

export async function loadToolRequest(db: Db, tenant: string, id: string): Promise<StoredToolRequest | undefined> {
  return (await db.query<StoredToolRequest>(loadToolRequestSql, [tenant, id]))[0]
}

function toolRequestScopeParams({
  tenant,
  owner,
  conversationId,
}: ToolRequestScope): [string, string | null, string | null] {
  return [tenant, owner, conversationId]
}

// The statement that answers also wakes the paused run.

/** As it may be shown: `parameters` and `resume` stay here. */
const line = `q.id, q.request_id, q.status, q.tool as tool_name, q.tool_call_id, q.request, q.agent, q.owner, q.run_id, q.session_id,
  q.conversation_id, ${isoTimeSql('q.created_at')} as created_at, ${isoTimeSql('q.expires_at')} as timeout_at,
  ${isoTimeSql('q.resolved_at')} as resolved_at, q.resolver, q.status = 'runtime_tool_timeout' and q.resolver is not null as cancelled,
  q.result`

/** $1 tenant, $2 owner or null, $3 conversation or null. */
const scope = 'q.tenant = $1 and ($2::text is null or q.owner = $2) and ($3::uuid is null or q.conversation_id = $3)'

/** $4 id or request id. */
const named = '(q.request_id = $4 or q.id::text = $4)'

const getToolRequestSql = nameStatement(
  'get_tool_request',
  `select ${line}, q.parameters from runtime_tool_requests q where ${scope} and ${named} limit 1`,
)

/** $4 status or null, $5 how many, $6 before which. */
const listToolRequestsSql = nameStatement(
  'list_tool_requests',
  `
select ${line} from runtime_tool_requests q
where ${scope} and ($4::text is null or q.status = $4) and ($6::uuid is null or q.id < $6)
order by q.id desc limit $5`,
)

/** $4 call. Call ids may repeat from run to run: the newest that waits is meant. */
const findToolRequest = nameStatement(
  'find_tool_request',
  `
select ${line} from runtime_tool_requests q where ${scope} and q.tool_call_id = $4
order by q.status = 'runtime_tool_pending' desc, q.id desc limit 1`,
)

/** $4 id or request id, $5 status, $6 result, $7 resolver, $8 whether to NOTIFY, $9 false: the turn that answers goes on itself. */
export const answerToolRequestSql = nameStatement(
  'answer_tool_request',
  `
with answered as (
  update runtime_tool_requests q set status = $5, result = $6::text::jsonb, resolver = $7, resolved_at = now()
  where ${scope} and ${named} and q.status = 'runtime_tool_pending' and (q.expires_at is null or q.expires_at > now())
  returning q.*
),${resumeSignalSql({ from: 'answered', kind: 'runtime_tool', name: '$5', owner: 'owner', notify: '$8', where: '$9::boolean' })},${insertActAuditLinesSql(
    {
      from: 'answered',
      by: '$7',
      about: 'd.owner',
      columns: {
        action: "'tool_request.answer'",
        outcome: "case when d.status = 'runtime_tool_completed' then 'answered' else 'cancelled' end",
        connection: '(select c.connection from conversations c where c.id = d.conversation_id)',
        agent: 'd.agent',
        conversation_id: 'd.conversation_id',
        object_id: 'd.id::text',
        detail: "jsonb_build_object('tool', d.tool)",
      },
    },
  )}
select ${line} from answered q cross join woken`,
)

/** $1 tenant, $2 id. */
const loadToolRequestSql = nameStatement(
  'load_tool_request',
  `
select q.id, q.status, q.status = 'runtime_tool_timeout' and q.resolver is not null as "isCancelled", q.result,
  q.session_id as "sessionId", q.resume
from runtime_tool_requests q where q.tenant = $1 and q.id = $2`,
)
