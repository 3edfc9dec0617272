// Tokens: `parley_<eight digits of its id>_<256 random bits>`. High entropy, so a plain hash is enough.
//
// A token is found by its hash in a unique index. That is no comparison in constant time and need not be one: what timing could
// tell is how far the hash of a guess agrees with a stored hash, and an attacker cannot choose what a guess hashes to.

import {
  type FoundToken,
  type NewToken,
  type TokenHolder,
  type TokenLine,
  type TokenStore,
  tokenPrefix,
} from '../db/tokens.ts'
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
