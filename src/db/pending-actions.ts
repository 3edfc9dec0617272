// Pending actions (approvals): stored by the commit that ends the paused turn, expired by its timer; here they are listed and
// decided, once.

import type { ApprovalDecision, PendingAction, PendingActionStatus } from '../agents/approvals/pending-action.ts'
import { approverRoles, type Resolvers } from '../agents/approvals/terms.ts'
import { assuranceClasses } from '../contract/mint-evidence.ts'
import type { Json, JsonObject } from '../lib/json-value.ts'
import { insertActAuditLinesSql } from './audit.ts'
import { type Db, isoTimeSql, nameStatement, storableJson } from './client.ts'
import { cancelOrUpdateDecidedQuestionsSql } from './questions.ts'
import { resumeSignalSql } from './resume-signal.ts'

/** As it may be shown: what would be executed is left out. */
export type ActionLine = Omit<PendingAction, 'apply_input' | 'metadata' | 'workspace'> & {
  /** What a decision can be bound to. */
  readonly hash: string
  readonly resolvers: Resolvers
  readonly tool_name: string | null
  readonly tool_call_id: string | null
  readonly run_id: string | null
  readonly session_id: string | null
  readonly conversation_id: string
}

/** Whose actions are meant; nothing else exists for the caller. */
type ActionScope = {
  readonly tenant: string
  readonly owner: string | null
  readonly conversationId: string | null
}

export type ActionFilter = {
  readonly status: PendingActionStatus | null
  readonly limit: number
  /** The id of the last one seen; ids sort by time. */
  readonly before: string | null
}

/** Who decides: known from a token or from evidence, never from what they write. */
export type Resolver = {
  readonly name: string
  /** By a token of the operator's routes, or by a grant for the agent. */
  readonly isOperator: boolean
  /** An operator who decides in a chat: the terms hold there as for every user. Others decide whatever the terms. */
  readonly isInChat?: boolean
  /** What a grant makes of them, and how strongly they are proven where they decide, as far as is known there. */
  readonly role?: string | null
  readonly assurance?: string | null
  readonly scope: ActionScope
}

export type StoredDecision = {
  readonly status: ApprovalDecision | 'deleted'
  /** Decide only if the action still has this hash. */
  readonly hash?: string
  readonly reason?: string
  /** The turn that decides, where it is a turn. */
  readonly origin?: string
  /** Who decides, as people there call them: the question says so in the end. */
  readonly by?: string
  /** The answer to the decision shows it in place of the question. */
  readonly isShown?: true
}

export type Resolution =
  /** `isDuplicate`: the same person had decided the same before; nothing happens a second time. */
  | { readonly kind: 'resolved'; readonly action: ActionLine; readonly isDuplicate: boolean }
  | { readonly kind: 'refused'; readonly reason: RefusedResolution; readonly action: ActionLine | null }

export type RefusedResolution = 'not_found' | 'already_resolved' | 'expired' | 'changed' | 'not_allowed'

/** Everything, for the run that goes on. */
export type StoredAction = {
  readonly id: string
  readonly status: PendingActionStatus
  readonly applyInput: Json
  readonly actionHash: string
  readonly decidedHash: string | null
  readonly isInTime: boolean
  readonly resolver: string | null
  readonly reason: string | null
  readonly agent: string
  readonly toolName: string
  readonly runId: string
  readonly conversationId: string
  readonly sessionId: string
  /** Null: it was carried out and scrubbed. */
  readonly resume: JsonObject | null
}

export async function getPendingAction(db: Db, scope: ActionScope, id: string): Promise<ActionLine | undefined> {
  const row = await readActionRow(db, scope, id)
  return row === undefined ? undefined : rowToPendingAction(row)
}

/** Those that wait, by the end of their id; and what this very turn decided before it was interrupted. */
export async function findPendingActions(
  db: Db,
  scope: ActionScope,
  { code, origin }: { readonly code: string | null; readonly origin: string },
): Promise<readonly ActionLine[]> {
  return (await db.query<Row>(findActions, [...actionScopeParams(scope), code, origin])).map(rowToPendingAction)
}

export async function listPendingActions(
  db: Db,
  scope: ActionScope,
  { status, limit, before }: ActionFilter,
): Promise<readonly ActionLine[]> {
  return (await db.query<Row>(listActions, [...actionScopeParams(scope), status, limit, before])).map(
    rowToPendingAction,
  )
}

/** How many there are of each status. */
export async function countActionsByStatus(
  db: Db,
  scope: ActionScope,
): Promise<Readonly<Record<PendingActionStatus, number>>> {
  const rows = await db.query<{ status: PendingActionStatus; count: number }>(countActions, actionScopeParams(scope))
  const none = { pending: 0, accepted: 0, rejected: 0, expired: 0, deleted: 0 }
  return { ...none, ...Object.fromEntries(rows.map(({ status, count }) => [status, count])) }
}

/** Compare and set, with the signal that wakes the paused run, in one statement. */
export async function resolvePendingAction(
  db: Db,
  id: string,
  decision: StoredDecision,
  resolver: Resolver,
): Promise<Resolution> {
  const { name, isOperator, scope, role = null, assurance = null, isInChat = false } = resolver
  const { status, hash, ...told } = decision
  const isOutside = isOperator && !isInChat
  const more = isOutside ? { by: 'an operator', ...told } : told
  const params = [id, status, name, isOperator, hash ?? null, storableJson(more)]
  const [row] = await db.query<Row>(resolveAction, [
    ...actionScopeParams(scope),
    ...params,
    db.isShared,
    role,
    assurance,
    isOutside,
  ])
  if (row !== undefined) return { kind: 'resolved', action: rowToPendingAction(row), isDuplicate: false }
  return refusedOrRepeatedResolution(await readActionRow(db, scope, id), decision, resolver)
}

export async function loadPendingAction(db: Db, tenant: string, id: string): Promise<StoredAction | undefined> {
  return (await db.query<StoredAction>(loadAction, [tenant, id]))[0]
}

async function readActionRow(db: Db, scope: ActionScope, id: string): Promise<Row | undefined> {
  return (await db.query<Row>(getAction, [...actionScopeParams(scope), id]))[0]
}

type Row = Omit<ActionLine, 'resolvers'> & { readonly isOverdue: boolean; readonly resolvers: string }

function actionScopeParams({ tenant, owner, conversationId }: ActionScope): [string, string | null, string | null] {
  return [tenant, owner, conversationId]
}

function rowToPendingAction({ isOverdue: _, resolvers, ...line }: Row): ActionLine {
  // A word, or terms that were checked before they were stored.
  return { ...line, resolvers: (resolvers.startsWith('{') ? JSON.parse(resolvers) : resolvers) as Resolvers }
}

/** Why nothing was decided; or it was, before, by the same person and alike. */
function refusedOrRepeatedResolution(row: Row | undefined, decision: StoredDecision, { name }: Resolver): Resolution {
  if (row === undefined) return { kind: 'refused', reason: 'not_found', action: null }
  const action = rowToPendingAction(row)
  if (row.status === decision.status && row.resolver === name) return { kind: 'resolved', action, isDuplicate: true }
  return { kind: 'refused', reason: findResolutionRefusal(row, decision), action }
}

function findResolutionRefusal(row: Row, { hash }: StoredDecision): RefusedResolution {
  if (row.status === 'expired') return 'expired'
  if (row.status !== 'pending') return 'already_resolved'
  // No other decision was made: the remaining conditions are the clock, what was shown, and who may decide.
  if (row.isOverdue) return 'expired'
  return hash !== undefined && hash !== row.hash ? 'changed' : 'not_allowed'
}

// The statement that decides also wakes the paused run.

/** As it may be shown: `apply_input` and `resume` stay here. */
const line = `a.id as action_id, a.kind, a.summary, a.action -> 'preview' as preview, ${isoTimeSql('a.created_at')} as created_at,
  a.agent, a.creator, ${isoTimeSql('a.expires_at')} as expires_at, a.status, ${isoTimeSql('a.resolved_at')} as resolved_at, a.resolver,
  a.expires_at <= now() as "isOverdue", a.resolution_result, a.resolution_error,
  coalesce(a.resolution_metadata, '{}') as resolution_metadata, a.action_hash as hash, a.resolvers, a.tool_name, a.tool_call_id,
  a.run_id, a.session_id, a.conversation_id`

/** Null: who may decide is said by a word. */
const terms = `case when a.resolvers like '{%' then a.resolvers::jsonb end`

/** $1 tenant, $2 whose or null, $3 conversation or null. What a person was named to decide about is theirs to see too. */
const scope = `a.tenant = $1 and ($3::uuid is null or a.conversation_id = $3)
  and ($2::text is null or a.creator = $2 or coalesce(${terms} -> 'principals' @> to_jsonb($2::text), false))`

const isRankedAtLeastSql = (order: readonly string[], given: string, least: string): string =>
  `(${least} is null or array_position(array['${order.join("','")}'], ${given}::text) >= array_position(array['${order.join("','")}'], ${least}))`

/** Whether $6 may: $5 the decision, $7 whether an operator, $11 their role, $12 how they are proven, $13 whether on the operator's routes. */
const mayDecide = `case
      when $13::boolean then true
      -- Taking it back is no decision.
      when $5 = 'deleted' then a.creator = $6
      when a.resolvers = 'anyone' then true
      when a.resolvers = 'requester' then a.creator = $6 or $7::boolean
      when a.resolvers = 'other' then a.creator is distinct from $6
      when a.resolvers like '{%' then (
        select (t.value -> 'requester' is null or (t.value -> 'requester')::boolean = (a.creator is not distinct from $6))
          and (t.value -> 'principals' is null or t.value -> 'principals' @> to_jsonb($6::text))
          and ${isRankedAtLeastSql(approverRoles, '$11', "t.value ->> 'role'")}
          and ${isRankedAtLeastSql(assuranceClasses, '$12', "t.value ->> 'assurance'")}
        from (select ${terms} as value) t)
      else $7::boolean end`

/** $4 id. */
const getAction = nameStatement('get_action', `select ${line} from pending_actions a where ${scope} and a.id = $4`)

/** $4 the end of its id, or null for all that wait; $5 the turn that asks. */
const findActions = nameStatement(
  'find_actions',
  `
select ${line} from pending_actions a
where ${scope} and (a.status = 'pending' or a.resolution_metadata ->> 'origin' = $5)
  and ($4::text is null or right(a.id::text, length($4)) = $4)
order by a.id limit 20`,
)

/** $4 status or null, $5 how many, $6 before which. */
const listActions = nameStatement(
  'list_actions',
  `
select ${line} from pending_actions a
where ${scope} and ($4::text is null or a.status = $4) and ($6::uuid is null or a.id < $6)
order by a.id desc limit $5`,
)

const countActions = nameStatement(
  'count_actions',
  `select a.status, count(*)::int as count from pending_actions a where ${scope} group by a.status`,
)

/**
 * $4 id, $5 status, $6 resolver, $7 whether an operator, $8 hash or null, $9 what is kept beside it, $10 whether to NOTIFY; $11 to $13 see above. Nothing is
 * decided about an action that is not the one that was shown, that is decided already, or by a person who may not decide. Withdrawing it is no decision.
 * A question that was not sent yet is not sent any more.
 */
export const resolveAction = nameStatement(
  'resolve_action',
  `
with decided as (
  update pending_actions a set status = $5, resolver = $6, resolved_at = now(), decided_hash = coalesce($8, a.action_hash),
    resolution_metadata = $9::text::jsonb
  where ${scope} and a.id = $4 and a.status = 'pending' and a.expires_at > now()
    and ($8::text is null or a.action_hash = $8)
    and ${mayDecide}
  returning a.*
),${resumeSignalSql({ from: 'decided', kind: 'approval', name: '$5', owner: 'creator', notify: '$10' })},${cancelOrUpdateDecidedQuestionsSql(
    {
      from: 'decided',
      after: 'queued',
      isShown: "d.resolution_metadata ->> 'isShown'",
    },
  )},${insertActAuditLinesSql({
    from: 'decided',
    by: '$6',
    about: 'd.creator',
    columns: {
      action: "'approval.resolve'",
      outcome: '$5::text',
      connection: '(select c.connection from conversations c where c.id = d.conversation_id)',
      agent: 'd.agent',
      conversation_id: 'd.conversation_id',
      object_id: 'd.id::text',
      detail: "jsonb_strip_nulls(jsonb_build_object('tool', d.tool_name))",
    },
  })}
select ${line} from decided a cross join woken`,
)

/** $1 tenant, $2 id. */
const loadAction = nameStatement(
  'load_action',
  `
select a.id, a.status, a.action -> 'apply_input' as "applyInput", a.action_hash as "actionHash", a.decided_hash as "decidedHash",
  coalesce(a.resolved_at <= a.expires_at, false) as "isInTime", a.resolver, a.resolution_metadata ->> 'reason' as reason,
  a.agent, coalesce(a.tool_name, '') as "toolName", a.run_id as "runId", a.conversation_id as "conversationId",
  a.session_id as "sessionId", a.resume
from pending_actions a where a.tenant = $1 and a.id = $2`,
)
