// Tokens: `parley_<eight digits of its id>_<256 random bits>`. High entropy, so a plain hash is enough.
//
// A token is found by its hash in a unique index. That is no comparison in constant time and need not be one: what timing could
// tell is how far the hash of a guess agrees with a stored hash, and an attacker cannot choose what a guess hashes to.

import type { WorkspaceScope } from '../contract/workspace-scope.ts'
import { GatewayError } from '../lib/errors.ts'
import type { IdSource } from '../lib/ids.ts'
import { encodeBase64 } from '../lib/index.ts'
import { type Secret, secret } from '../lib/secret.ts'

export type TokenDeps = {
  readonly tokens: TokenStore
  readonly newId: IdSource
  readonly fillRandom: (bytes: Uint8Array<ArrayBuffer>) => void
  readonly hash: (text: string) => Promise<string>
}

export type TokenRequest = Omit<NewToken, 'id' | 'hash'>

const maxTries = 5

/** The token itself is in the answer and nowhere else. */
export async function createToken(
  { tokens, newId, fillRandom, hash }: TokenDeps,
  wish: TokenRequest,
): Promise<{ readonly token: Secret; readonly line: TokenLine }> {
  for (let tries = 0; tries < maxTries; tries += 1) {
    const id = newId()
    const bytes = new Uint8Array(32)
    fillRandom(bytes)
    const clear = `${tokenPrefix(id)}_${encodeBase64Url(bytes)}`
    const line = await tokens.add({ id, hash: await hash(clear), ...wish })
    if (line !== undefined) return { token: secret(clear), line }
  }
  throw new GatewayError('conflict', '[tokens] no free digits were found for a new token; try again', {
    retryable: true,
  })
}

/** The end of an id is random; its beginning is the time, and the same for all tokens of one afternoon. */
export function tokenDigits(id: string): string {
  return id.slice(-8)
}

export function tokenPrefix(id: string): string {
  return `parley_${tokenDigits(id)}`
}

/** Signed tokens of others are longer than ours; this is as long as headers may usually be. */
const bearerPattern = /^bearer +(\S{1,8192})$/i
const tokenPattern = /^parley_[0-9a-f]{8}_[\w-]{43}$/

/** Other token issuers are never shown one of ours, nor what was meant to be one. */
export function isOwnToken(given: string): boolean {
  return given.startsWith('parley_')
}

/** The credential of an Authorization header: one, and of this scheme. */
export function parseBearerHeader(authorization: string | undefined): string | undefined {
  return bearerPattern.exec(authorization ?? '')?.[1]
}

type OwnTokenDeps = Pick<TokenDeps, 'tokens' | 'hash'>

/** Prefix, hash, expiry, in this order. Undefined: unknown here, revoked or expired. Its use is not noted yet. */
export async function findToken({ tokens, hash }: OwnTokenDeps, given: string): Promise<FoundToken | undefined> {
  return tokenPattern.test(given) ? tokens.find(await hash(given)) : undefined
}

/** Who a bearer is, with the use noted. */
export async function authenticateToken(deps: OwnTokenDeps, given: string): Promise<TokenHolder | undefined> {
  const found = await findToken(deps, given)
  if (found?.isUseDue === true) await deps.tokens.touch(found.id)
  return found
}

function encodeBase64Url(bytes: Uint8Array): string {
  return encodeBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

// Tokens of operators, of people who see what is theirs, and of callers of agents. Only their hashes are kept; the clear text is
// shown once. A store is one tenant's: the tokens of another are unknown to it.

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

type NewToken = TokenTerms & {
  readonly id: string
  readonly hash: string
  readonly createdBy: string
  readonly expiresInMs: number | null
}

/** `isUseDue`: its last use was noted so long ago that it should be noted again. */
export type FoundToken = TokenHolder & { readonly isUseDue: boolean }

export interface TokenStore {
  /** Undefined: another token ends in the same digits, and by those it is told apart and named as a subject. */
  add(token: NewToken): Promise<TokenLine | undefined>
  /** Newest first. */
  list(): Promise<readonly TokenLine[]>
  /** A token that is valid now; asked of the database every time, so a revocation counts at once everywhere. */
  find(hash: string): Promise<FoundToken | undefined>
  /** Notes that it was used. */
  touch(id: string): Promise<void>
  /** `id` or prefix. `none`: there is no such token, or it was revoked before. */
  revoke(idOrPrefix: string): Promise<{ readonly kind: 'revoked' | 'none' | 'ambiguous' }>
}
