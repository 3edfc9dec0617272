// Calls that ask people to decide something: whether anything of it is still open, and what becomes of those that were not sent when
// their question is decided. A sender must not begin with a call whose question is over, and says so in the statement that begins.
import { appendHistoryEntrySql, preventIndexUseSql, rowVersion } from './client.ts'

/** Why a call was cancelled, and why a turn that said nothing else ended without words. */
export const questionDecided = 'question_decided'

/** The actions `a` that a call asks about, which are of its turn; worded so that only the index by turn can serve. */
const pendingActionsOfCallSql = (call: string): string => `pending_actions a
    where a.turn_id = ${call}.turn_id and ${preventIndexUseSql('a.tenant')} = ${call}.tenant and ${call}.question -> 'asks' @> to_jsonb(a.id::text)`

/** It can still be decided: what has run out is over, also before its timer says so. */
export const isQuestionOpenSql = (call: string): string =>
  `exists (select 1 from ${pendingActionsOfCallSql(call)} and a.status = 'pending' and a.expires_at > now())`

/** What a sender must know of a call's question: what to say without it, and how it was decided; null while it is open. */
export const questionStateJsonSql = (
  call: string,
): string => `case when ${call}.question is not null then json_build_object(
  'otherwise', ${call}.question -> 'otherwise',
  'isPlaceholder', coalesce((${call}.question ->> 'isPlaceholder')::boolean, false),
  'outcomes', case when not ${isQuestionOpenSql(call)} then coalesce((
    select json_agg(json_build_object('status', case when a.status = 'pending' then 'expired' else a.status end, 'summary', a.summary,
      'by', a.resolution_metadata ->> 'by') order by a.id)
    from ${pendingActionsOfCallSql(call)}), '[]') end) end`

/** It was decided by a press on this very message, which shows the outcome already. */
export const isDecisionAlreadyShownSql = (call: string, vendorId: string): string => `exists (
  select 1 from ${pendingActionsOfCallSql(call)} and a.resolution_metadata ->> 'origin' = any(array(
    select e.turn_id::text from outbox e where e.tenant = ${call}.tenant and e.vendor_id = ${vendorId} and e.id <> ${call}.id)))`

/** Of a reply's primary calls: nothing is left to be done about it, and nothing failed. */
export const isCallDeliveredOrDecidedSql = (call: string): string =>
  `(${call}.state = 'delivered' or ${call}.state = 'cancelled' and ${call}.reason = '${questionDecided}')`

/** The fate of a turn's messages: `ended` has the turn's id and state. */
export const messageStateAfterTurnSql = (message: string, ended: string): string => `case
  when ${ended}.state = 'dead' then 'dead'
  when ${ended}.state = 'answered'
    and ${message}.turn_order = (select max(y.turn_order) from inbox y where y.turn_id = ${ended}.id and y.event = 'new')
  then 'answered' else 'merged' end`

/** Nothing of what a call asks is open once the statement that decides `from` is committed. */
const areAllActionsDecidedSql = (call: string, from: string): string => `not exists (
      select 1 from ${pendingActionsOfCallSql(call)}
      and a.status = 'pending' and a.expires_at > now() and a.id not in (select d.id from ${from} d))`

/**
 * Part of a statement that decides: `from` is its CTE of decided actions (tenant, id, turn_id). Calls that say nothing but their
 * question and were not begun are cancelled here and now, and leave the ledger with their turn; those that were shown are edited into
 * their outcome, below what else they say, by a call of its own, unless the decision says that it is shown already (`isShown`). A sender holds the lane of the
 * sends, so that is locked first, after the lanes of the conversations (`after`), as every turn that ends does; what is read then
 * must be what that sender left, so the calls are read locked.
 */
export const cancelOrUpdateDecidedQuestionsSql = ({
  from,
  after,
  isShown = 'false',
}: {
  readonly from: string
  readonly after: string
  readonly isShown?: string
}): string => `
asking_lanes as materialized (
  select l.tenant, l.connection, l.order_key from send_lanes l
  where (select count(*) from ${after}) >= 0 and (l.tenant, l.connection, l.order_key) in (
    select o.tenant, o.connection, o.order_key from ${from} d join outbox o on o.turn_id = d.turn_id
    where o.tenant = d.tenant and o.question -> 'asks' @> to_jsonb(d.id::text))
  order by l.tenant, l.connection, l.order_key for update of l
),
asking_calls as materialized (
  select o.id, o.tenant, o.connection, o.order_key, o.turn_id, o."primary", o.state, o.reason, o.settled_at, o.question,
    o.purpose, o.vendor_id, o.conversation_id, o.call, o.trace_id
  from (select distinct turn_id from ${from}) d join outbox o on o.turn_id = d.turn_id
  join asking_lanes l on l.tenant = o.tenant and l.connection = o.connection and l.order_key = o.order_key
  where o."primary" or o.question is not null
  for update of o
),
unasked as (
  update outbox o set state = 'cancelled', reason = '${questionDecided}', settled_at = now()
  from asking_calls c
  where o.id = c.id and c.settled_at is null and c.state in ('queued', 'retry') and c.question ->> 'otherwise' is null
    and c.vendor_id is null and ${areAllActionsDecidedSql('c', from)}
  returning o.id, o.tenant, o.connection, o.order_key, o.turn_id, o."primary"
),
outcomes as (
  insert into outbox (id, tenant, connection, conversation_id, turn_id, origin, ordinal, order_key, "primary", purpose, v,
    call, client_id, state, trace_id, question, vendor_id)
  select gen_random_uuid(), c.tenant, c.connection, c.conversation_id, c.turn_id, c.id, 0, c.order_key, false, 'outcome',
    ${rowVersion}, c.call, c.id || ':outcome', 'queued', c.trace_id, c.question, c.vendor_id
  from asking_calls c
  where c.state = 'delivered' and c.settled_at is not null and c.vendor_id is not null and c.purpose <> 'outcome'
    and c.reason is distinct from 'outcome_shown'
    and (c.question ->> 'isEditable')::boolean and ${areAllActionsDecidedSql('c', from)}
    and exists (select 1 from ${from} d where c.question -> 'asks' @> to_jsonb(d.id::text)
      and not coalesce((${isShown})::boolean, false))
  on conflict (origin, ordinal) do nothing
  returning tenant, connection, order_key
),
-- What waited behind them need not wait for their next try.
unasked_lanes as (
  update send_lanes l set pending = l.pending + u.calls, next_at = least(l.next_at, now())
  from (select tenant, connection, order_key, sum(calls)::int as calls from (
    select tenant, connection, order_key, -1 as calls from unasked
    union all
    select tenant, connection, order_key, 1 from outcomes) w group by 1, 2, 3) u
  where l.tenant = u.tenant and l.connection = u.connection and l.order_key = u.order_key
),
unasked_turns as (
  update turns t set ended_at = now(), state = u.state, reason = u.reason,
    history = ${appendHistoryEntrySql('t', `'what', u.state, 'attempt', t.attempt, 'code', u.reason`)}
  from (
    select w.turn_id, case when bool_or(s.state = 'delivered') then 'answered' else 'silent' end as state,
      case when bool_or(s.state = 'delivered') then null else '${questionDecided}' end as reason
    from (select distinct turn_id from unasked where "primary") w
    left join lateral (
      select c.state, ${isCallDeliveredOrDecidedSql('c')} as is_over from asking_calls c
      where c.turn_id = w.turn_id and c."primary" and c.id not in (select id from unasked)
      union all
      select o.state, ${isCallDeliveredOrDecidedSql('o')} from outbox o
      where o.turn_id = w.turn_id and o.origin = w.turn_id and o."primary" and o.id not in (select id from asking_calls)) s on true
    group by w.turn_id having coalesce(bool_and(s.is_over), true)) u
  where t.id = u.turn_id and t.state = 'replied'
  returning t.id, t.state
),
unasked_members as (
  update inbox x set ended_at = now(), state = ${messageStateAfterTurnSql('x', 'u')},
    reason = case when u.state = 'silent' then '${questionDecided}' end
  from unasked_turns u where x.turn_id = u.id and x.state = 'in_turn'
)`
