// Tokens on SQL.
import type { TokenHolder, TokenLine, TokenStore } from '../identity/token-store.ts'
import { tokenPrefix } from '../identity/tokens.ts'
import type { Database } from './database.ts'
import { addToken, listTokens, revokeToken, useToken } from './statements/tokens.ts'

type Row = Omit<TokenLine, 'prefix'>

/** Operators belong to the whole installation; its tokens are the default tenant's. */
const tenant = 'default'

export function createTokenStore(database: Database): TokenStore {
  return {
    async add({ id, hash, label, scopes, principal, expiresInMs }) {
      const params = [tenant, id, hash, label, JSON.stringify(scopes), expiresInMs, principal]
      const [row] = await database.query<Row>(addToken, params)
      if (row === undefined) throw new RangeError('an insert returns its row')
      return withPrefix(row)
    },
    async list() {
      return (await database.query<Row>(listTokens, [tenant])).map(withPrefix)
    },
    async holderOf(hash) {
      return (await database.query<TokenHolder>(useToken, [tenant, hash]))[0]
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
