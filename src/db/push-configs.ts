// Push notification configurations of tasks. $1 tenant, $2 connection, $3 task, $4 owner; another owner's task gives no row.
import { isoTime, statement, unindexed } from './client.ts'
import { rowVersion } from './row-version.ts'

const own = `own as materialized (
  select t.id, t.state, t.state_at from tasks t
  where t.id = $3 and ${unindexed('t.tenant')} = $1 and ${unindexed('t.connection')} = $2 and t.owner is not distinct from $4::text for update)`
const columns = 'p.task_id as "taskId", p.id, p.url, p.scheme, p.dialect, p.sealed_secrets as sealed'

/**
 * $5 id, $6 url, $7 scheme, $8 sealed secrets, $9 dialect, $10 how many a task may have, $11 whether it came with the message that
 * asked for the task: what the task has reached by now is told then, as if the receiver had been there.
 */
export const savePush = statement(
  'save_push',
  `
with ${own},
saved as (
  insert into push_configs (tenant, task_id, id, url, scheme, sealed_secrets, dialect)
  select $1, own.id, $5, $6, $7, $8::text::jsonb, $9 from own
  where (select count(*) from push_configs p where p.tenant = $1 and p.task_id = own.id and p.id <> $5) < $10::int
  on conflict (tenant, task_id, id) do update
    set url = excluded.url, scheme = excluded.scheme, sealed_secrets = excluded.sealed_secrets, dialect = excluded.dialect,
      disabled_at = null
  returning xmax = 0 as is_new
),
marked as (update tasks t set has_push = true from own where t.id = own.id and not t.has_push),
called as (
  insert into outbox (id, tenant, connection, origin, ordinal, order_key, "primary", purpose, v, call, client_id, state, trace_id)
  select c.id, $1, $2, c.id, 0, 'push:' || own.id || ':' || $5, false, 'push', ${rowVersion},
    jsonb_build_object('push', jsonb_build_object('taskId', own.id, 'configId', $5::text, 'state', own.state,
      'at', ${isoTime('own.state_at')})),
    c.id::text, 'queued', replace(own.id::text, '-', '')
  from own, (select gen_random_uuid() as id) c
  where $11::boolean and own.state <> 'submitted' and exists (select 1 from saved where is_new)
  returning order_key
),
queued as (
  insert into send_lanes (tenant, connection, order_key, pending) select $1, $2, order_key, 1 from called
  on conflict (tenant, connection, order_key) do update set pending = send_lanes.pending + 1
)
select exists (select 1 from saved) as "isSaved" from own`,
)

/** $5 id. */
export const findPush = statement(
  'find_push',
  `with ${own} select ${columns} from push_configs p, own where p.tenant = $1 and p.task_id = own.id and p.id = $5`,
)

/** One row per config; one without a config where the task has none. */
export const listPush = statement(
  'list_push',
  `with ${own} select ${columns} from own left join push_configs p on p.tenant = $1 and p.task_id = own.id order by p.created_at, p.id`,
)

/** $5 id. */
export const removePush = statement(
  'remove_push',
  `
with ${own},
gone as (delete from push_configs p using own where p.tenant = $1 and p.task_id = own.id and p.id = $5)
select count(*)::int as owned from own`,
)

/** $1 tenant, $2 task, $3 id. */
export const disablePush = statement(
  'disable_push',
  'update push_configs set disabled_at = now() where tenant = $1 and task_id = $2 and id = $3',
)

/** $1 tenant, $2 task, $3 id. For the sender of the notification, not for an API caller. */
export const pushToSend = statement(
  'push_to_send',
  `select ${columns} from push_configs p where p.tenant = $1 and p.task_id = $2 and p.id = $3 and p.disabled_at is null`,
)
