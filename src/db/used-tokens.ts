// Tokens that count once. Two replicas that meet on one are told apart by the primary key.
import type { UsedTokens } from '../identity/issuers/external-tokens.ts'
import { type Database, statement } from './client.ts'

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
