// Tokens (DESIGN.md 4): rows of hashes. Times that are compared are the database's.
import { statement } from '../database.ts'

const state = `case when revoked_at is not null then 'revoked'
  when expires_at is not null and expires_at <= now() then 'expired' else 'active' end`

const line = `id, label, scopes, principal, ${state} as state, created_at as "createdAt", last_used_at as "lastUsedAt",
  expires_at as "expiresAt", revoked_at as "revokedAt"`

/** $1 tenant, $2 id, $3 hash, $4 label, $5 scopes as JSON, $6 life in ms or null, $7 principal or null. */
export const addToken = statement(
  'add_token',
  `
insert into tokens (tenant, id, hash, label, scopes, expires_at, principal)
values ($1, $2, $3, $4, $5::text::jsonb, now() + $6::float8 * interval '1 ms', $7)
returning ${line}`,
)

/** $1 tenant. */
export const listTokens = statement('list_tokens', `select ${line} from tokens where tenant = $1 order by id desc`)

/** $1 tenant, $2 hash. Its last use is written down once in five minutes at most. */
export const useToken = statement(
  'use_token',
  `
with found as materialized (
  select id, label, scopes, principal, workspace_type, workspace_id, last_used_at from tokens where hash = $2 and tenant = $1 and ${state} = 'active'
),
used as (
  update tokens t set last_used_at = now() from found f
  where t.tenant = $1 and t.id = f.id and (f.last_used_at is null or f.last_used_at < now() - interval '5 minutes')
)
select label, scopes, principal,
  json_build_object('workspace_type', workspace_type, 'workspace_id', workspace_id) as workspace from found`,
)

/** $1 tenant, $2 id or the end of one. More than one: nothing is revoked. */
export const revokeToken = statement(
  'revoke_token',
  `
with meant as materialized (
  select id from tokens where tenant = $1 and revoked_at is null and (id::text = $2 or right(id::text, 8) = $2)
),
revoked as (
  update tokens t set revoked_at = now() from meant m
  where t.tenant = $1 and t.id = m.id and (select count(*) from meant) = 1
  returning 1
)
select (select count(*)::int from meant) as meant, (select count(*)::int from revoked) as revoked`,
)
