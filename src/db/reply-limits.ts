// Reply limits: whether a message may still be answered, so that two machines do not answer each other for ever. Rows, so that
// replicas count together.
import type { ReplyLimit } from '../contract/capabilities.ts'
import { insertAuditLinesSql } from './audit.ts'
import { type Db, nameStatement } from './client.ts'
import { wasAnsweredSql } from './known-people.ts'

/**
 * Whose answers are counted together. `own`: those of one sender. `strangers`: those of all senders whom no operator admitted and who
 * were never answered here before, so that people known before cannot be silenced by them.
 */
export type ReplyShare = 'own' | 'strangers'

/** What is counted. `per: 'notices'`: access challenges sent to strangers on the whole connection. */
export type CountedReply = Pick<ReplyLimit, 'count' | 'perMs'> & {
  readonly per: ReplyLimit['per'] | 'notices'
  readonly share: ReplyShare
  /** Names what is counted; it holds no name of a person. */
  readonly scope: string
  /** The group of strangers, for the operator; a domain, a workspace, never a person. */
  readonly group: string | null
}

export type ReplyAsk = {
  readonly connection: string
  readonly agent: string
  readonly conversationId: string
  /** By which it is counted: the same message asked about again, after a crash, is not counted twice. */
  readonly inboxId: string
  /** Whose it is: for the audit log, and to look up whether they were answered before. */
  readonly subject: string | null
  readonly traceId: string
  /** An operator admitted them: nothing is counted among strangers. */
  readonly isAdmitted: boolean
  readonly limits: readonly CountedReply[]
}

/**
 * A limit that is reached; `rule` is how people read it. `isNews`: for the first time in its window, and written into the audit log
 * just now. `freeInMs`: when the next answer is allowed.
 */
export type ReachedLimit = {
  readonly per: CountedReply['per']
  readonly rule: string
  readonly isNews: boolean
  readonly freeInMs: number
}

type SpentRow = ReachedLimit & { readonly isMissing: boolean }

/** One statement: counted under all of them, or, where one is reached, under none. Nothing back: it may be answered. */
export async function countReplyAgainstLimits(
  db: Db,
  { connection, limits, inboxId, subject, agent, conversationId, traceId, isAdmitted }: ReplyAsk,
): Promise<readonly ReachedLimit[]> {
  const counted = [db.tenant, connection, JSON.stringify(limits)]
  for (;;) {
    const rows = await db.query<SpentRow>(spendRepliesSql, [
      ...counted,
      inboxId,
      subject,
      agent,
      conversationId,
      traceId,
      isAdmitted,
    ])
    if (!rows.some(({ isMissing }) => isMissing)) return rows
    await db.query(makeReplyWindows, [...counted, subject, isAdmitted])
  }
}

/** It was counted, and nothing was said after all. */
export async function uncountReply(
  db: Db,
  { connection, scope, inboxId }: { readonly connection: string; readonly scope: string; readonly inboxId: string },
): Promise<void> {
  await db.query(returnReplySql, [db.tenant, connection, scope, inboxId])
}

// A window slides: each answer counts until its own time is over.

/**
 * $1 tenant, $2 connection, $3 what is counted as JSON, $4 the message, $5 whose it is, $6 agent, $7 conversation, $8 trace, $9 whether
 * an operator admitted them.
 *
 *   person  whether they are known: admitted, or answered here before; then the share of strangers is not theirs
 *   held    the windows there are, locked in a fixed order before they are read
 *   stood   how each stands; a message that was counted before may be answered again
 *   over    those that are full: then nothing is counted at all
 *   missing those without a row to lock: then nothing is counted either, or two replicas that come first would both count from none
 *   spent   counted from the row as it is
 *   told    full ones, once per window, with their line in the audit log
 */
const spendRepliesSql = nameStatement(
  'spend_replies',
  `
with person as materialized (
  select $9::boolean or ${wasAnsweredSql('$1', '$2', '$5')} as is_known
),
asked as materialized (
  select l.scope, l.per, l.count, l."perMs" * interval '1 ms' as span,
    l.per || ' ' || l.count || ' in ' || (l."perMs" / 1000)::int || ' s, ' || case when l.share = 'own' then 'a share of their own'
      else 'shared by strangers' || coalesce(' of ' || l."group", '') end as rule
  from json_to_recordset($3::text::json) as l(scope text, per text, count int, "perMs" float8, share text, "group" text), person p
  where l.share = 'own' or not p.is_known
),
held as materialized (
  select w.scope, w.answered from reply_windows w
  where w.tenant = $1 and w.connection = $2 and w.scope = any(array(select scope from asked)) order by w.scope for update
),
stood as materialized (
  select a.*, s.n, s.is_known, s.ends from asked a left join held h on h.scope = a.scope cross join lateral (
    select count(*) as n, coalesce(bool_or(e ->> 'id' = $4), false) as is_known,
      array_agg((e ->> 'until')::timestamptz order by (e ->> 'until')::timestamptz) as ends
    from jsonb_array_elements(coalesce(h.answered, '[]')) e where (e ->> 'until')::timestamptz > now()
      -- Longer than its window it counts only where the clock went back.
      and (e ->> 'until')::timestamptz <= now() + a.span + interval '5 seconds') s
),
over as materialized (
  select s.scope, s.per, s.rule, s.span,
    coalesce(extract(epoch from s.ends[(s.n - s.count + 1)::int] - now()) * 1000, 0)::float8 as "freeInMs"
  from stood s
  where s.n >= s.count and not exists (select 1 from stood k where k.is_known)
),
missing as materialized (
  select a.scope from asked a
  where not exists (select 1 from held h where h.scope = a.scope) and not exists (select 1 from stood k where k.is_known)
),
spent as (
  insert into reply_windows as w (tenant, connection, scope, answered, expires_at)
  select $1, $2, s.scope, jsonb_build_array(jsonb_build_object('id', $4::text, 'until', now() + s.span)), now() + s.span
  from stood s where not s.is_known and not exists (select 1 from over) and not exists (select 1 from missing) order by s.scope
  on conflict (tenant, connection, scope) do update set expires_at = greatest(w.expires_at, excluded.expires_at),
    answered = coalesce((select jsonb_agg(e) from jsonb_array_elements(w.answered) e
      where (e ->> 'until')::timestamptz > now()), '[]') || excluded.answered
),
told as (
  update reply_windows w set notified_until = now() + o.span, expires_at = greatest(w.expires_at, now() + o.span)
  from over o
  where w.tenant = $1 and w.connection = $2 and w.scope = o.scope and coalesce(w.notified_until <= now(), true)
  returning w.tenant, w.connection, o.scope, o.rule
),${insertAuditLinesSql({
    from: 'told',
    subject: '$5::text',
    columns: {
      action: "'reply.limit'",
      outcome: "'refused'",
      code: "'reply_limit'",
      actor: "'gateway'",
      rule: 'd.rule',
      connection: 'd.connection',
      agent: '$6::text',
      conversation_id: '$7::uuid',
      inbox_id: '$4::uuid',
      trace_id: '$8::text',
    },
    order: 'd.rule',
  })}
select o.per, o.rule, exists (select 1 from told t where t.scope = o.scope) as "isNews", false as "isMissing", o."freeInMs" from over o
union all
select '', '', false, true, 0 where exists (select 1 from missing) and not exists (select 1 from over)
order by 2`,
)

/** $1 tenant, $2 connection, $3 scope, $4 the message. What was counted and did not leave after all. */
const returnReplySql = nameStatement(
  'return_reply',
  `
update reply_windows w set answered = coalesce((
  select jsonb_agg(e) from jsonb_array_elements(w.answered) e where e ->> 'id' <> $4), '[]')
where w.tenant = $1 and w.connection = $2 and w.scope = $3`,
)

/** $1 tenant, $2 connection, $3 what is counted as JSON, $4 whose it is, $5 whether they were admitted. Empty windows, for spend_replies to lock. */
const makeReplyWindows = nameStatement(
  'make_reply_windows',
  `
insert into reply_windows (tenant, connection, scope, answered, expires_at)
select $1, $2, l.scope, '[]', now() + l."perMs" * interval '1 ms'
from json_to_recordset($3::text::json) as l(scope text, "perMs" float8, share text)
where l.share = 'own' or not ($5::boolean or ${wasAnsweredSql('$1', '$2', '$4')}) order by l.scope
on conflict (tenant, connection, scope) do nothing`,
)
