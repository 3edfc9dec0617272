// Tokens for operators: `parley_<eight digits of its id>_<256 random bits>`. High entropy, so a plain hash is enough.
import { type IdSource, type Secret, secret } from '../contract/index.ts'
import type { NewToken, TokenHolder, TokenLine, TokenStore } from './token-store.ts'

export type TokenDeps = {
  readonly tokens: TokenStore
  readonly newId: IdSource
  readonly fillRandom: (bytes: Uint8Array<ArrayBuffer>) => void
  readonly hash: (text: string) => Promise<string>
}

export type TokenWish = Omit<NewToken, 'id' | 'hash'>

/** The token itself is in the answer and nowhere else. */
export async function createToken(
  { tokens, newId, fillRandom, hash }: TokenDeps,
  wish: TokenWish,
): Promise<{ readonly token: Secret; readonly line: TokenLine }> {
  const id = newId()
  const bytes = new Uint8Array(32)
  fillRandom(bytes)
  const clear = `${tokenPrefix(id)}_${base64Url(bytes)}`
  const line = await tokens.add({ id, hash: await hash(clear), ...wish })
  return { token: secret(clear), line }
}

/** The end of an id is random; its beginning is the time, and the same for all tokens of one afternoon. */
export function tokenPrefix(id: string): string {
  return `parley_${id.slice(-8)}`
}

/** Who a bearer is; undefined when its token is unknown, revoked or expired. */
export async function tokenHolder(
  { tokens, hash }: Pick<TokenDeps, 'tokens' | 'hash'>,
  given: string,
): Promise<TokenHolder | undefined> {
  return /^parley_[0-9a-f]{8}_[\w-]{43}$/.test(given) ? tokens.holderOf(await hash(given)) : undefined
}

function base64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}
