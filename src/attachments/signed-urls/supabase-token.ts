// The token of a Supabase URL, read without its key: it must at least speak of this object, and of reading it.
import { decodeJwt } from 'jose'
import type { SignedUrlCode } from '../signed-url-code.ts'

export type SignatureReading =
  | { readonly expiresAtMs: number | null; readonly token: string | null }
  | { readonly code: SignedUrlCode }

const opaqueToken = /^[A-Za-z0-9_-]{1,512}$/

export function parseSupabaseToken(
  query: readonly (readonly [name: string, value: string])[],
  object: string,
): SignatureReading {
  const tokens = query.filter(([name]) => name === 'token').map(([, value]) => value)
  if (tokens.length > 1) return { code: 'SU_DUP_PARAM' }
  const [token = ''] = tokens
  // A word without dots is no JWT, so there is nothing in it that could contradict the URL.
  if (opaqueToken.test(token)) return { expiresAtMs: null, token }
  const claims = decodeTokenClaims(token)
  if (claims === undefined) return { code: 'SU_TOKEN_MALFORMED' }
  if (claims['upsert'] !== undefined || (claims['scope'] ?? 'download') !== 'download') return { code: 'SU_SCOPE' }
  if (claims['url'] !== object) return { code: 'SU_TOKEN_MISMATCH' }
  return { expiresAtMs: typeof claims['exp'] === 'number' ? claims['exp'] * 1000 : null, token }
}

function decodeTokenClaims(token: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return decodeJwt(token)
  } catch {
    return undefined
  }
}
