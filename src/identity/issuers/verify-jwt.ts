// A signed token (RFC 7519, RFC 9068): who it says issued it picks the keys, and nothing else in it says where keys are.
import { decodeJwt, decodeProtectedHeader, errors, jwtVerify, type ProtectedHeaderParameters } from 'jose'
import type { RejectReason } from '../../contract/index.ts'
import type { IssuerKeys } from './issuer-keys.ts'
import { findTokenTimeFault } from './judge-claims.ts'
import { isIdToken, readTokenClaims, type TokenClaims } from './token-claims.ts'
import type { JwtIssuer } from './token-issuer.ts'

export type DecodedJwt = { readonly header: ProtectedHeaderParameters; readonly issuer: unknown }

/** What it claims, before anything is proven: enough to know whom to ask. Undefined: no JWT. */
export function decodeUnverifiedJwt(token: string): DecodedJwt | undefined {
  try {
    return { header: decodeProtectedHeader(token), issuer: decodeJwt(token).iss }
  } catch {
    return undefined
  }
}

export type JwtResult =
  | { readonly ok: true; readonly claims: TokenClaims }
  | { readonly ok: false; readonly reason: RejectReason }

/** Ways a token has to bring its own key along, or to name a place to fetch one from. */
const keyHeaders = ['jku', 'jwk', 'x5u', 'x5c']

export async function verifyJwt(
  token: string,
  { header }: DecodedJwt,
  issuer: JwtIssuer,
  { keys, now }: { readonly keys: IssuerKeys; readonly now: () => number },
): Promise<JwtResult> {
  const early = findJwtHeaderFault(header, issuer)
  if (early !== undefined) return rejectJwt(early)
  const found = await keys.find(header.kid ?? '')
  if (found.kind !== 'found') return rejectJwt(found.kind === 'unknown' ? 'token_key' : 'issuer_unavailable')
  const at = now()
  try {
    const { payload } = await jwtVerify(token, found.keys, {
      algorithms: issuer.algorithms,
      issuer: issuer.issuer,
      // When it counts is judged below, with the same words for every kind of token.
      currentDate: new Date(at),
      clockTolerance: Number.MAX_SAFE_INTEGER,
    })
    const claims = readTokenClaims(payload)
    if (claims === undefined) return rejectJwt('invalid_token')
    const fault = isIdToken(payload) ? 'token_type' : findTokenTimeFault(claims, at, issuer.maxLifetimeSeconds)
    if (fault !== undefined) return rejectJwt(fault)
    // One that counts once has to be told from the next one.
    return issuer.oneShot && claims.id === undefined ? rejectJwt('invalid_token') : { ok: true, claims }
  } catch (error) {
    return rejectJwt(toRejectReason(error))
  }
}

function findJwtHeaderFault(
  header: ProtectedHeaderParameters,
  { algorithms, typ }: JwtIssuer,
): RejectReason | undefined {
  if (!algorithms.some((each) => each === header.alg)) return 'token_algorithm'
  if (keyHeaders.some((each) => each in header)) return 'token_key_header'
  if (!typ.some((each) => normalizeJwtType(each) === normalizeJwtType(header.typ ?? ''))) return 'token_type'
  return typeof header.kid === 'string' && header.kid !== '' ? undefined : 'token_key'
}

/** RFC 7515 section 4.1.9: letters are alike, and `application/` may be left out. */
function normalizeJwtType(typ: string): string {
  return typ.toLowerCase().replace(/^application\//, '')
}

function toRejectReason(error: unknown): RejectReason {
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'token_signature'
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) return 'token_key'
  if (error instanceof errors.JOSEAlgNotAllowed) return 'token_algorithm'
  if (error instanceof errors.JWTClaimValidationFailed && error.claim === 'iss') return 'token_issuer'
  // A key that does not fit its algorithm, a payload that is no JSON: no token made for us.
  return 'invalid_token'
}

function rejectJwt(reason: RejectReason): JwtResult {
  return { ok: false, reason }
}
