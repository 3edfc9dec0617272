// API tokens, stored as hashes.
import type { WorkspaceScope } from '../contract/workspace-scope.ts'
import type { UsedTokens } from '../identity/issuers/external-tokens.ts'
import { type Database, nameStatement } from './client.ts'

// Tokens of operators, of people who see what is theirs, and of callers of agents. Only their hashes are kept; the clear text is
// shown once.

/**
 * `admin`: every operator route. `read`: those that change nothing and show nothing that was said. `run`: talk to agents.
 * `own`: what belongs to the token's principal.
 */
export const tokenScopes = ['admin', 'read', 'run', 'own'] as const
export type TokenScope = (typeof tokenScopes)[number]

/** What a token is for and what it is limited to. */
export type TokenTerms = {
  readonly label: string
  readonly scopes: readonly TokenScope[]
  /** Whom it speaks for; narrows whatever the scopes say. Null: only itself. */
  readonly principal: string | null
  /** The one agent it may talk to. Null: every one. */
  readonly agent: string | null
  readonly workspace: WorkspaceScope
  /** At most these capabilities. Null: no list of its own. */
  readonly allowedCapabilities: readonly string[] | null
  /** The application it was given to. */
  readonly clientId: string | null
}

/** Who a valid token speaks for. */
export type TokenHolder = TokenTerms & { readonly id: string }

export type TokenLine = TokenTerms & {
  readonly id: string
  /** What the token begins with: enough to tell which one lies somewhere, too little to use it. */
  readonly prefix: string
  readonly state: 'active' | 'expired' | 'revoked'
  readonly createdBy: string | null
  readonly createdAt: string
  /** Coarse: refreshed once in a few minutes at most. */
  readonly lastUsedAt: string | null
  readonly expiresAt: string | null
  readonly revokedAt: string | null
}

export type NewToken = TokenTerms & {
  readonly id: string
  readonly hash: string
  readonly createdBy: string
  readonly expiresInMs: number | null
}

/** `isUseDue`: its last use was noted so long ago that it should be noted again. */
export type FoundToken = TokenHolder & { readonly isUseDue: boolean }

/** The end of an id is random; its beginning is the time, and the same for all tokens of one afternoon. */
export function lastCharactersOfTokenId(id: string): string {
  return id.slice(-8)
}

export function tokenPrefix(id: string): string {
  return `parley_${lastCharactersOfTokenId(id)}`
}

type Row = Omit<TokenLine, 'prefix'>

/** One tenant's: the tokens of another are unknown to it. */
export type TokenStore = ReturnType<typeof createTokenStore>

export function createTokenStore(database: Database, tenant: string) {
  return {
    /** Undefined: another token ends in the same digits, and by those it is told apart and named as a subject. */
    async add(token: NewToken): Promise<TokenLine | undefined> {
      const { id, hash, label, scopes, principal, expiresInMs, agent, allowedCapabilities, ...more } = token
      const { clientId, workspace, createdBy } = more
      const capabilities = allowedCapabilities === null ? null : JSON.stringify(allowedCapabilities)
      const what = [tenant, id, hash, label, JSON.stringify(scopes), expiresInMs, principal, agent, capabilities]
      const whose = [clientId, workspace.workspace_type, workspace.workspace_id, createdBy]
      return (await database.query<Row>(addToken, [...what, ...whose])).map(rowToTokenLine)[0]
    },
    /** Newest first. */
    async list(): Promise<readonly TokenLine[]> {
      return (await database.query<Row>(listTokens, [tenant])).map(rowToTokenLine)
    },
    /** A token that is valid now; asked of the database every time, so a revocation counts at once everywhere. */
    async find(hash: string): Promise<FoundToken | undefined> {
      return (await database.query<FoundToken>(findToken, [tenant, hash]))[0]
    },
    /** Notes that it was used. */
    async touch(id: string): Promise<void> {
      await database.query(touchToken, [tenant, id])
    },
    /** `id` or prefix. `none`: there is no such token, or it was revoked before. */
    async revoke(idOrPrefix: string): Promise<{ readonly kind: 'revoked' | 'none' | 'ambiguous' }> {
      const [row] = await database.query<{ meant: number; revoked: number }>(revokeToken, [tenant, idOrPrefix])
      if ((row?.revoked ?? 0) > 0) return { kind: 'revoked' }
      return { kind: (row?.meant ?? 0) > 1 ? 'ambiguous' : 'none' }
    },
  }
}

function rowToTokenLine(row: Row): TokenLine {
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
const addToken = nameStatement(
  'add_token',
  `
insert into tokens (tenant, id, hash, label, scopes, expires_at, principal, agent, allowed_capabilities, client_id,
  workspace_type, workspace_id, created_by)
select $1, $2::uuid, $3, $4, $5::text::jsonb, now() + $6::float8 * interval '1 ms', $7, $8, $9::text::jsonb, $10, $11, $12, $13
where not exists (select 1 from tokens t where t.tenant = $1 and right(t.id::text, 8) = right($2::uuid::text, 8))
returning ${line}`,
)

/** $1 tenant. */
const listTokens = nameStatement('list_tokens', `select ${line} from tokens where tenant = $1 order by id desc`)

/** $1 tenant, $2 hash. */
const findToken = nameStatement(
  'find_token',
  `select ${terms}, ${isUseDue} as "isUseDue" from tokens where hash = $2 and tenant = $1 and ${state} = 'active'`,
)

/** $1 tenant, $2 id. */
const touchToken = nameStatement(
  'touch_token',
  `update tokens set last_used_at = now() where tenant = $1 and id = $2 and ${isUseDue}`,
)

/** $1 tenant, $2 id or the end of one. More than one: nothing is revoked. */
const revokeToken = nameStatement(
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

export function createUsedTokenStore(database: Database, tenant: string): UsedTokens {
  return {
    use: async (key, expiresAt) => (await database.query(useToken, [tenant, key, expiresAt])).length > 0,
  }
}

/** $1 tenant, $2 key, $3 expiry in seconds since 1970. A row comes back for the first use only. */
const useToken = nameStatement(
  'use_token',
  `
insert into used_tokens (tenant, key, expires_at) values ($1, $2, to_timestamp($3::float8))
on conflict (tenant, key) do nothing returning 1 as used`,
)

/** $1 batch, $2 tenant. An expired token is refused for that. */
export const deleteExpiredUsedTokens = nameStatement(
  'expire_used_tokens',
  `
with old as (select ctid from used_tokens where tenant = $2 and expires_at < now() order by expires_at limit $1)
delete from used_tokens t using old where t.ctid = old.ctid returning 1 as swept`,
)
