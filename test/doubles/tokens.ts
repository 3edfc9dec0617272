// Tokens for tests: made as the routes make them, with whatever terms the test is about.

import type { Database } from '../../src/db/client.ts'
import { createTokenStore, type TokenLine } from '../../src/db/tokens.ts'
import { createToken, type TokenDeps, type TokenRequest } from '../../src/identity/tokens.ts'
import { createUuidV7Source } from '../../src/lib/ids.ts'
import { sha256Hex } from '../../src/lib/index.ts'

/** An operator's, for ever, of the default workspace. */
export const plainTerms: TokenRequest = {
  label: 'test',
  scopes: ['admin'],
  principal: null,
  agent: null,
  workspace: { workspace_type: 'tenant', workspace_id: 'default' },
  allowedCapabilities: null,
  clientId: null,
  createdBy: 'operator:test',
  expiresInMs: null,
}

export function tokenDeps(database: Database, tenant = 'default'): TokenDeps {
  const fillRandom = (bytes: Uint8Array<ArrayBuffer>): void => void crypto.getRandomValues(bytes)
  const newId = createUuidV7Source(Date.now, fillRandom)
  return { tokens: createTokenStore(database, tenant), newId, fillRandom, hash: sha256Hex }
}

export async function madeToken(
  database: Database,
  terms: Partial<TokenRequest> = {},
  tenant = 'default',
): Promise<{ readonly clear: string; readonly line: TokenLine }> {
  const { token, line } = await createToken(tokenDeps(database, tenant), { ...plainTerms, ...terms })
  return { clear: token.reveal(), line }
}
