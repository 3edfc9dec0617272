// Tokens that count once, on SQL.
import type { UsedTokens } from '../identity/issuers/used-tokens.ts'
import type { Database } from './database.ts'
import { useToken } from './statements/used-tokens.ts'

export function createUsedTokens(database: Database, tenant: string): UsedTokens {
  return {
    use: async (key, expiresAt) => (await database.query(useToken, [tenant, key, expiresAt])).length > 0,
  }
}
