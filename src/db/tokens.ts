// API tokens, stored as hashes.
import type { UsedTokens } from '../identity/issuers/external-tokens.ts'
import { type FoundToken, type TokenLine, type TokenStore, tokenPrefix } from '../identity/tokens.ts'
import { type Database, statement } from './client.ts'

type Row = Omit<TokenLine, 'prefix'>

export function createTokenStore(database: Database, tenant: string): TokenStore {
  return {
    async add({ id, hash, label, scopes, principal, expiresInMs, agent, allowedCapabilities, ...more }) {
      const { clientId, workspace, createdBy } = more
      const capabilities = allowedCapabilities === null ? null : JSON.stringify(allowedCapabilities)
      const what = [tenant, id, hash, label, JSON.stringify(scopes), expiresInMs, principal, agent, capabilities]
      const whose = [clientId, workspace.workspace_type, workspace.workspace_id, createdBy]
      return (await database.query<Row>(addToken, [...what, ...whose])).map(withPrefix)[0]
    },
    async list() {
      return (await database.query<Row>(listTokens, [tenant])).map(withPrefix)
    },
    async find(hash) {
      return (await database.query<FoundToken>(findToken, [tenant, hash]))[0]
    },
    async touch(id) {
      await database.query(touchToken, [tenant, id])
    },
    async revoke(idOrPrefix) {
      const [row] = await database.query<{ meant: number; revoked: number }>(revokeToken, [tenant, idOrPrefix])
      if ((row?.revoked ?? 0) > 0) return { kind: 'revoked' }
      return { kind: (row?.meant ?? 0) > 1 ? 'ambiguous' : 'none' }
    },
  }
}

function withPrefix(row: Row): TokenLine {
  return { ...row, prefix: tokenPrefix(row.id) }
}

// Times that are compared are the database's.

const state = `case when revoked_at is not null then 'revoked'
  when expires_at is not null and expires_at <= now() then 'expired' else 'active' end`

const terms = `id, label, scopes, principal, agent, allowed_capabilities as "allowedCapabilities", client_id as "clientId",
  json_build_object('workspace_type', workspace_type, 'workspace_id', workspace_id) as workspace`

const line = `${terms}, ${state} as state, created_by as "createdBy", created_at as "createdAt",
  last_used_at as "lastUsedAt", expires_at as "expiresAt", revoked_at as "revokedAt"`

/** Not a write per request: near enough to tell an unused token. */
const isUseDue = `(last_used_at is null or last_used_at < now() - interval '5 minutes')`

/**
 * $1 tenant, $2 id, $3 hash, $4 label, $5 scopes as JSON, $6 life in ms or null, $7 principal or null, $8 agent or null,
 * $9 capabilities as JSON or null, $10 client or null, $11 workspace type, $12 workspace id, $13 by whom.
 * Digits that one token has or had, no other gets: who held it stands in rows by these digits.
 */
const addToken = statement(
  'add_token',
  `
insert into tokens (tenant, id, hash, label, scopes, expires_at, principal, agent, allowed_capabilities, client_id,
  workspace_type, workspace_id, created_by)
select $1, $2::uuid, $3, $4, $5::text::jsonb, now() + $6::float8 * interval '1 ms', $7, $8, $9::text::jsonb, $10, $11, $12, $13
where not exists (select 1 from tokens t where t.tenant = $1 and right(t.id::text, 8) = right($2::uuid::text, 8))
returning ${line}`,
)

/** $1 tenant. */
const listTokens = statement('list_tokens', `select ${line} from tokens where tenant = $1 order by id desc`)

/** $1 tenant, $2 hash. */
const findToken = statement(
  'find_token',
  `select ${terms}, ${isUseDue} as "isUseDue" from tokens where hash = $2 and tenant = $1 and ${state} = 'active'`,
)

/** $1 tenant, $2 id. */
const touchToken = statement(
  'touch_token',
  `update tokens set last_used_at = now() where tenant = $1 and id = $2 and ${isUseDue}`,
)

/** $1 tenant, $2 id or the end of one. More than one: nothing is revoked. */
const revokeToken = statement(
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

// Tokens that count once. Two replicas that meet on one are told apart by the primary key.

export function createUsedTokens(database: Database, tenant: string): UsedTokens {
  return {
    use: async (key, expiresAt) => (await database.query(useToken, [tenant, key, expiresAt])).length > 0,
  }
}

/** $1 tenant, $2 key, $3 expiry in seconds since 1970. A row comes back for the first use only. */
const useToken = statement(
  'use_token',
  `
insert into used_tokens (tenant, key, expires_at) values ($1, $2, to_timestamp($3::float8))
on conflict (tenant, key) do nothing returning 1 as used`,
)

/** $1 batch, $2 tenant. An expired token is refused for that. */
export const deleteExpiredUsedTokens = statement(
  'expire_used_tokens',
  `
with old as (select ctid from used_tokens where tenant = $2 and expires_at < now() order by expires_at limit $1)
delete from used_tokens t using old where t.ctid = old.ctid returning 1 as swept`,
)
