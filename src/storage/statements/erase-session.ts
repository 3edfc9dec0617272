// The part of a statement that erases what was said and done in sessions. A caller's CTE `gone` has their (id,
// conversation_id). Receipts, counts and numbers stay.
import { emptyLine } from './empty-line.ts'

type Erasure = {
  /** Whether a line keeps its row and its number. */
  readonly lines: 'emptied' | 'deleted'
  /** SQL: who withdrew what still waited for a decision. */
  readonly resolver: string
}

const lines = {
  emptied: `update messages m set envelope = m.envelope || ${emptyLine} from gone where m.session_id = gone.id`,
  deleted: 'delete from messages m using gone where m.session_id = gone.id',
} as const

export const sessionErased = (erasure: Erasure): string => `
unmapped as (
  update conversations c set session_id = null from gone where c.id = gone.conversation_id and c.session_id = gone.id
),
spoken as materialized (select m.inbox_id, m.turn_id from messages m join gone on m.session_id = gone.id),
ran as materialized (
  select t.id from gone join turns t on t.conversation_id = gone.conversation_id and t.session_id = gone.id
  union
  select turn_id from spoken where turn_id is not null
),
erased as (${lines[erasure.lines]}),
forgotten as (
  update inbox i set message = null, raw = null
  from spoken where i.id = spoken.inbox_id and i.state not in ('queued', 'in_turn', 'held')
),
-- Files that were said in them, or only referred to by what was; no line is left that shows one.
unattached as (
  delete from attachments a
  where a.session_id = any(array(select id from gone)) or a.inbox_id = any(array(select inbox_id from spoken))
),
untold as (update tasks k set said = null from gone where k.conversation_id = gone.conversation_id and k.said is not null),
unsaid as (update turns t set response = null from ran where t.id = ran.id),
steps as (delete from journal j using ran where j.turn_id = ran.id),
events as (delete from run_events e using ran where e.run_id = ran.id),
sent as (update outbox o set call = '{"erased":true}', question = null from ran where o.turn_id = ran.id and o.state = 'delivered'),
asked as (
  update pending_actions a set action = '{}', resume = null,
    status = case when a.status = 'pending' then 'deleted' else a.status end,
    resolver = case when a.status = 'pending' then ${erasure.resolver} else a.resolver end,
    resolved_at = coalesce(a.resolved_at, now())
  from ran where a.turn_id = ran.id
),
requested as (
  update runtime_tool_requests q set parameters = '{}', resume = null, result = null,
    status = case when q.status = 'runtime_tool_pending' then 'runtime_tool_timeout' else q.status end
  from ran where q.turn_id = ran.id
)`
