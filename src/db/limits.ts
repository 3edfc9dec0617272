// Rate limits of callers: how often one asked in the current window. Rows, so that replicas count together.
import { type Db, nameStatement } from './client.ts'

/** `scope` names who and what is counted; it holds no name of a person. */
export type Counted = { readonly scope: string; readonly count: number; readonly perMs: number }

/** `used` counts the request itself; one more than `count` where it was too many. */
export type Spent = { readonly scope: string; readonly used: number; readonly resetMs: number }

/** One statement, whatever is counted. */
export function countAgainstLimits(db: Db, counted: readonly Counted[]): Promise<readonly Spent[]> {
  return db.query<Spent>(spendLimitsSql, [db.tenant, JSON.stringify(counted)])
}

// A counter is kept as one instant, as the limits of sending are: it stands behind the beginning of its window by a piece of the
// window per request, so that a new window needs no clearing.

/** $1 tenant, $2 what is counted as JSON. Rows are taken in a fixed order, so that two replicas cannot deadlock. */
const spendLimitsSql = nameStatement(
  'spend_limits',
  `
with asked as materialized (
  select a.scope, a.count, a."perMs", a."perMs" / a.count * interval '1 ms' as step, w.begins,
    w.begins + a."perMs" * interval '1 ms' as ends
  from json_to_recordset($2::text::json) as a(scope text, count float8, "perMs" float8)
  cross join lateral (select to_timestamp(floor(extract(epoch from now())::float8 * 1000 / a."perMs") * a."perMs" / 1000) as begins) w
),
spent as (
  insert into connection_limits as l (tenant, connection, scope, spent_until)
  select $1, 'api', a.scope, a.begins + a.step from asked a order by a.scope
  on conflict (tenant, connection, scope) do update set spent_until = (
    select least(greatest(l.spent_until, a.begins), a.ends) + a.step from asked a where a.scope = l.scope)
  returning l.scope, l.spent_until
)
select s.scope, round(extract(epoch from s.spent_until - a.begins) * 1000 / (a."perMs" / a.count))::int as used,
  greatest(1, ceil(extract(epoch from a.ends - now()) * 1000))::float8 as "resetMs"
from spent s join asked a on a.scope = s.scope`,
)
