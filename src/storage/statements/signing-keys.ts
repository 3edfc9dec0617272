// The keys of our handles. $1 tenant in all of them.
import { statement } from '../database.ts'
import { auditLines } from './audit-lines.ts'

const key = 'k.id, k.secret'

/** Asked first: a new one is made and sealed only where there is none. */
export const findCurrentKey = statement(
  'find_current_signing_key',
  `select ${key} from signing_keys k where k.tenant = $1 and k.retired_at is null`,
)

/** $2 id and $3 secret of a new one, should there be none: the second caller is given the first one's. */
export const currentKey = statement(
  'current_signing_key',
  `
with known as materialized (select ${key} from signing_keys k where k.tenant = $1 and k.retired_at is null),
made as (
  insert into signing_keys as k (tenant, id, secret, created_by)
  select $1, $2::uuid, $3, 'gateway' where not exists (select 1 from known)
  on conflict (tenant) where retired_at is null do update set tenant = excluded.tenant
  returning ${key}
)
select id, secret from known union all select id, secret from made`,
)

/** $2 id. What was signed with a retired one is honoured for an hour: no handle lives longer. */
export const findKey = statement(
  'find_signing_key',
  `select ${key} from signing_keys k where k.tenant = $1 and k.id = $2
     and (k.retired_at is null or k.retired_at > now() - interval '1 hour')`,
)

/** $2 id, $3 secret, $4 by whom. Of two who do this at once, one does. */
export const rotateKey = statement(
  'rotate_signing_key',
  `
with retired as (update signing_keys k set retired_at = now() where k.tenant = $1 and k.retired_at is null returning 1),
old as (delete from signing_keys k where k.tenant = $1 and k.retired_at < now() - interval '1 day'),
made as (
  insert into signing_keys (tenant, id, secret, created_by)
  select $1, $2::uuid, $3, $4::text from (select count(*) as n from retired) done
  on conflict (tenant) where retired_at is null do nothing
  returning tenant, id
),${auditLines({
    from: 'made',
    subject: 'null::text',
    columns: { action: "'signing_key.rotate'", outcome: "'done'", actor: '$4::text', object_id: 'd.id::text' },
  })}
select 1 as rotated from made`,
)
