// Pending actions: shown to those who may see them, decided once. The statement that decides also wakes the paused run.
import { approverRoles } from '../../agent/approvals/terms.ts'
import { assuranceClasses } from '../../contract/index.ts'
import { statement } from '../database.ts'
import { auditedAct } from './audit-lines.ts'
import { isoTime } from './iso-time.ts'
import { withdrawQuestions } from './questions.ts'
import { resumeSignal } from './resume-signal.ts'

/** As it may be shown: `apply_input` and `resume` stay here. */
const line = `a.id as action_id, a.kind, a.summary, a.action -> 'preview' as preview, ${isoTime('a.created_at')} as created_at,
  a.agent, a.creator, ${isoTime('a.expires_at')} as expires_at, a.status, ${isoTime('a.resolved_at')} as resolved_at, a.resolver,
  a.expires_at <= now() as "isOverdue", a.resolution_result, a.resolution_error,
  coalesce(a.resolution_metadata, '{}') as resolution_metadata, a.action_hash as hash, a.resolvers, a.tool_name, a.tool_call_id,
  a.run_id, a.session_id, a.conversation_id`

/** Null: who may decide is said by a word. */
const terms = `case when a.resolvers like '{%' then a.resolvers::jsonb end`

/** $1 tenant, $2 whose or null, $3 conversation or null. What a person was named to decide about is theirs to see too. */
const scope = `a.tenant = $1 and ($3::uuid is null or a.conversation_id = $3)
  and ($2::text is null or a.creator = $2 or coalesce(${terms} -> 'principals' @> to_jsonb($2::text), false))`

const isAtLeast = (order: readonly string[], given: string, least: string): string =>
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
          and ${isAtLeast(approverRoles, '$11', "t.value ->> 'role'")}
          and ${isAtLeast(assuranceClasses, '$12', "t.value ->> 'assurance'")}
        from (select ${terms} as value) t)
      else $7::boolean end`

/** $4 id. */
export const getAction = statement('get_action', `select ${line} from pending_actions a where ${scope} and a.id = $4`)

/** $4 the end of its id, or null for all that wait; $5 the turn that asks. */
export const findActions = statement(
  'find_actions',
  `
select ${line} from pending_actions a
where ${scope} and (a.status = 'pending' or a.resolution_metadata ->> 'origin' = $5)
  and ($4::text is null or right(a.id::text, length($4)) = $4)
order by a.id limit 20`,
)

/** $4 status or null, $5 how many, $6 before which. */
export const listActions = statement(
  'list_actions',
  `
select ${line} from pending_actions a
where ${scope} and ($4::text is null or a.status = $4) and ($6::uuid is null or a.id < $6)
order by a.id desc limit $5`,
)

export const countActions = statement(
  'count_actions',
  `select a.status, count(*)::int as count from pending_actions a where ${scope} group by a.status`,
)

/**
 * $4 id, $5 status, $6 resolver, $7 whether an operator, $8 hash or null, $9 what is kept beside it, $10 whether to NOTIFY; $11 to $13 see above. Nothing is
 * decided about an action that is not the one that was shown, that is decided already, or by a person who may not decide. Withdrawing it is no decision.
 * A question that was not sent yet is not sent any more.
 */
export const resolveAction = statement(
  'resolve_action',
  `
with decided as (
  update pending_actions a set status = $5, resolver = $6, resolved_at = now(), decided_hash = coalesce($8, a.action_hash),
    resolution_metadata = $9::text::jsonb
  where ${scope} and a.id = $4 and a.status = 'pending' and a.expires_at > now()
    and ($8::text is null or a.action_hash = $8)
    and ${mayDecide}
  returning a.*
),${resumeSignal({ from: 'decided', kind: 'approval', name: '$5', owner: 'creator', notify: '$10' })},${withdrawQuestions(
    {
      from: 'decided',
      after: 'queued',
      isShown: "d.resolution_metadata ->> 'isShown'",
    },
  )},${auditedAct({
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
export const loadAction = statement(
  'load_action',
  `
select a.id, a.status, a.action -> 'apply_input' as "applyInput", a.action_hash as "actionHash", a.decided_hash as "decidedHash",
  coalesce(a.resolved_at <= a.expires_at, false) as "isInTime", a.resolver, a.resolution_metadata ->> 'reason' as reason,
  a.agent, coalesce(a.tool_name, '') as "toolName", a.run_id as "runId", a.conversation_id as "conversationId",
  a.session_id as "sessionId", a.resume
from pending_actions a where a.tenant = $1 and a.id = $2`,
)
