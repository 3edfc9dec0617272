// Tokens on SQL.
import type { FoundToken, TokenLine, TokenStore } from '../identity/tokens/token-store.ts'
import { tokenPrefix } from '../identity/tokens/tokens.ts'
import type { Database } from './database.ts'
import { addToken, findToken, listTokens, revokeToken, touchToken } from './statements/tokens.ts'

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
