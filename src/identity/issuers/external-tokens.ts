// Tokens of other issuers: which issuer to ask about one, whether it is for this agent, and whose it is. What is wrong with one
// has a name of its own; a token we know nothing about causes no request to any server.

import { decodeJwt, decodeProtectedHeader, errors, jwtVerify, type ProtectedHeaderParameters } from 'jose'
import type { Bearer } from '../../contract/caller.ts'
import type { RejectReason } from '../../contract/index.ts'
import type { Log } from '../../lib/log.ts'
import {
  createIssuerKeyCache,
  createTokenIntrospector,
  type IssuerCache,
  type IssuerFetch,
  type IssuerKeys,
} from './issuer-client.ts'
import {
  type AudienceContext,
  findTokenTimeFault,
  isIdToken,
  readTokenClaims,
  resolveAudienceAgent,
  type TokenClaims,
  tokenClaimsToBearer,
} from './token-claims.ts'
import type { IntrospectedIssuer, JwtIssuer, TokenIssuers } from './token-issuers.ts'

export type ExternalTokenDeps = {
  readonly issuers: TokenIssuers
  readonly fetch: IssuerFetch
  readonly memory: IssuerCache
  readonly used: UsedTokens
  readonly hash: (text: string) => Promise<string>
  readonly now: () => number
  readonly log: Pick<Log, 'warn'>
}

export type ExternalTokenResult =
  /** `use`: false when it counts once and has been used. To be asked last, when nothing else is wrong. */
  | { readonly kind: 'held'; readonly bearer: Bearer; readonly use: () => Promise<boolean> }
  | { readonly kind: 'rejected'; readonly reason: RejectReason }

export interface ExternalTokenVerifier {
  verify(token: string, context: AudienceContext): Promise<ExternalTokenResult>
}

type CheckedToken =
  | { readonly ok: true; readonly claims: TokenClaims; readonly issuer: JwtIssuer | IntrospectedIssuer }
  | { readonly ok: false; readonly reason: RejectReason }

export function createExternalTokenVerifier(deps: ExternalTokenDeps): ExternalTokenVerifier {
  const { jwt, introspected } = deps.issuers
  const keys = new Map(jwt.map((each) => [each.issuer, createIssuerKeyCache(deps, each)]))
  const introspectToken = introspected === undefined ? undefined : createTokenIntrospector(deps, introspected)
  const checkJwtOrIntrospect = async (token: string): Promise<CheckedToken> => {
    const read = decodeUnverifiedJwt(token)
    const issuer = jwt.find((each) => each.issuer === read?.issuer)
    const known = issuer === undefined ? undefined : keys.get(issuer.issuer)
    if (read !== undefined && issuer !== undefined && known !== undefined) {
      const outcome = await verifyJwt(token, read, issuer, { keys: known, now: deps.now })
      return outcome.ok ? { ...outcome, issuer } : outcome
    }
    // Many servers hand out signed tokens and yet want to be asked about them.
    if (introspectToken === undefined || introspected === undefined)
      return { ok: false, reason: read === undefined ? 'invalid_token' : 'token_issuer' }
    const outcome = await introspectToken(token)
    return outcome.ok ? { ...outcome, issuer: introspected } : outcome
  }
  return {
    async verify(token, context) {
      const checked = await checkJwtOrIntrospect(token)
      if (!checked.ok) return rejectToken(checked.reason)
      const { claims, issuer } = checked
      const agent = resolveAudienceAgent(claims.audience, issuer.audience, context)
      if (agent === undefined) return rejectToken('token_audience')
      const kind = 'proves' in issuer && issuer.proves === 'agent' ? 'jwt' : 'oauth'
      const bearer = await tokenClaimsToBearer(deps.hash, issuer, { claims, kind, agent })
      if (bearer === undefined) return rejectToken('invalid_token')
      return { kind: 'held', bearer, use: () => markTokenUsed(deps, issuer, claims) }
    },
  }
}

async function markTokenUsed(
  { used, hash }: ExternalTokenDeps,
  issuer: JwtIssuer | IntrospectedIssuer,
  claims: TokenClaims,
) {
  if (!('oneShot' in issuer && issuer.oneShot)) return true
  // A little longer than it could be shown: clocks differ.
  const until = (claims.expiresAt ?? 0) + 120
  return used.use(await hash(JSON.stringify([issuer.issuer, claims.id])), until)
}

function rejectToken(reason: RejectReason): ExternalTokenResult {
  return { kind: 'rejected', reason }
}

// Tokens that count once: which were used, in every replica, until they would have expired anyway.

export interface UsedTokens {
  /** True for the first who uses it. `key` is a hash; `expiresAt` in seconds. */
  use(key: string, expiresAt: number): Promise<boolean>
}

// A signed token (RFC 7519, RFC 9068): its `iss` picks the keys, and nothing else in it says where keys are.

export type DecodedJwt = { readonly header: ProtectedHeaderParameters; readonly issuer: unknown }

/** What it claims, before anything is proven: enough to know whom to ask. Undefined: no JWT. */
function decodeUnverifiedJwt(token: string): DecodedJwt | undefined {
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

async function verifyJwt(
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
