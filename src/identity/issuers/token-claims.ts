// Claims of a genuine token, read the same way from its own payload and from an introspection answer: audience, validity, and the
// bearer they make.
import * as z from 'zod'
import type { Bearer, ForeignTokenClaims } from '../../contract/caller.ts'
import type { RejectReason } from '../../contract/index.ts'
import { isNamespacedSubject } from '../../contract/mint-evidence.ts'
import type { IntrospectedIssuer, JwtIssuer } from './token-issuers.ts'

/** Until the year 9999; what is later is no time. */
const instant = z.number().min(0).max(253_402_300_799)
const text = z.string().min(1).max(255)
const words = z.union([
  z
    .string()
    .max(4096)
    .transform((all) => all.split(' ')),
  z.array(z.string()),
])

type Actor = { readonly sub: string; readonly act?: Actor | undefined }
const actorSchema: z.ZodType<Actor> = z.lazy(() => z.looseObject({ sub: text, act: actorSchema.optional() }))

const claimsSchema = z.looseObject({
  iss: z.string().optional(),
  sub: text.optional(),
  aud: z.union([z.string().transform((one) => [one]), z.array(z.string()).max(64)]).optional(),
  exp: instant.optional(),
  nbf: instant.optional(),
  iat: instant.optional(),
  jti: z.string().min(1).max(512).optional(),
  client_id: text.optional(),
  azp: text.optional(),
  scope: words.optional(),
  scp: words.optional(),
  act: actorSchema.optional(),
})

/** The claims that count here, and no others. Times are seconds. */
export type TokenClaims = {
  readonly issuer: string | undefined
  /** Whom the token is about. */
  readonly subject: string
  readonly audience: readonly string[]
  readonly expiresAt: number | undefined
  readonly notBefore: number | undefined
  readonly issuedAt: number | undefined
  readonly id: string | undefined
  readonly client: string | undefined
  readonly scopes: readonly string[]
  /** Who calls for the subject, the caller itself first (RFC 8693). */
  readonly actors: readonly string[]
}

const maxActors = 4
const maxScopes = 64
const scopeWord = /^[\u0021\u0023-\u005b\u005d-\u007e]{1,128}$/

/** Undefined: no token of ours to read. */
export function readTokenClaims(payload: unknown): TokenClaims | undefined {
  const { data } = claimsSchema.safeParse(payload)
  const actors = listActors(data?.act)
  // A client that acts for itself may leave out the subject.
  const subject = data?.sub ?? data?.client_id
  if (data === undefined || subject === undefined || actors.length > maxActors) return undefined
  return {
    issuer: data.iss,
    subject,
    audience: data.aud ?? [],
    expiresAt: data.exp,
    notBefore: data.nbf,
    issuedAt: data.iat,
    id: data.jti,
    client: data.client_id ?? data.azp,
    scopes: [...(data.scope ?? []), ...(data.scp ?? [])].filter((each) => scopeWord.test(each)).slice(0, maxScopes),
    actors,
  }
}

function listActors(act: Actor | undefined): readonly string[] {
  const actors: string[] = []
  for (let each = act; each !== undefined; each = each.act) actors.push(each.sub)
  return actors
}

/** Marks of an OpenID id_token: made for the application that a user signed in to, never for us. */
export function isIdToken(payload: Readonly<Record<string, unknown>>): boolean {
  const marks = ['nonce', 'at_hash', 'c_hash', 's_hash']
  return marks.some((mark) => mark in payload) || payload['typ'] === 'ID' || payload['token_use'] === 'id'
}

// The same checks of audience and validity for a JWT and for an introspected token.

const skewSeconds = 60

export type AudienceContext = {
  readonly agent: string
  /** URLs of that agent here. */
  readonly audiences: readonly string[]
  /** Further agents whose tokens will do: whom a request is for may be known only when it is taken. */
  readonly others: readonly string[]
}

/** The one agent a token is made out to, null for all of them, undefined for none. */
export function resolveAudienceAgent(
  given: readonly string[],
  written: readonly string[],
  { agent, audiences, others }: AudienceContext,
): string | null | undefined {
  const isAudienceFor = (slug: string): boolean =>
    written.some((each) => each.includes('{agent}') && given.includes(each.replaceAll('{agent}', slug)))
  if (written.some((each) => !each.includes('{agent}') && given.includes(each))) return null
  if (audiences.some((each) => given.includes(each)) || isAudienceFor(agent)) return agent
  return others.find(isAudienceFor)
}

/** Undefined: it counts now. */
export function findTokenTimeFault(
  { expiresAt, notBefore, issuedAt }: TokenClaims,
  nowMs: number,
  maxLifetimeSeconds: number,
): RejectReason | undefined {
  const now = nowMs / 1000
  // Without both its lifetime is unknown.
  if (expiresAt === undefined || issuedAt === undefined || expiresAt <= issuedAt) return 'token_lifetime'
  if (now - skewSeconds >= expiresAt) return 'token_expired'
  if (now + skewSeconds < Math.max(issuedAt, notBefore ?? 0)) return 'token_not_yet_valid'
  return expiresAt - issuedAt > maxLifetimeSeconds ? 'token_lifetime' : undefined
}

type Issuer = Pick<JwtIssuer | IntrospectedIssuer, 'issuer' | 'subjectPrefix' | 'scopes'>

export type CheckedTokenClaims = {
  readonly claims: TokenClaims
  readonly kind: ForeignTokenClaims['kind']
  /** The one agent it is made out to; null: all of them. */
  readonly agent: string | null
}

/**
 * The owner of what is created with it is issuer, subject and client together: another application of the
 * same person is another owner. Undefined: no plain subject can be made of it.
 */
export async function tokenClaimsToBearer(
  hash: (text: string) => Promise<string>,
  issuer: Issuer,
  { claims, kind, agent }: CheckedTokenClaims,
): Promise<Bearer | undefined> {
  const about = `${issuer.subjectPrefix}${percentEncodeSubject(claims.subject)}`
  const user = claims.actors[0] ?? claims.client
  const subject = user === undefined || user === claims.subject ? about : `${about}#${percentEncodeSubject(user)}`
  if (!isNamespacedSubject(subject)) return undefined
  const digits = (await hash(subject)).slice(0, 16)
  return {
    tokenId: isValidTokenId(claims.id) ? claims.id : digits,
    subject,
    agent,
    name: `caller-${digits}`,
    scopes: mapScopes(issuer.scopes, claims.scopes),
    issuerClaims: {
      issuer: issuer.issuer,
      kind,
      ...tokenTimesToIso(claims),
      // A client acts in its own name; only an actor is said to act for a subject.
      ...(claims.actors.length > 0 && subject !== about ? { onBehalfOf: [about] } : {}),
    },
    claims: {
      ...(agent === null ? {} : { agent }),
      ...(claims.client === undefined ? {} : { client_id: claims.client }),
      ...(claims.scopes.length === 0 ? {} : { scope: claims.scopes.join(' ') }),
      ...(claims.actors.length === 0 ? {} : { act: [...claims.actors] }),
    },
  }
}

/** An issuer's scope counts under our name: by the table, or where the table says nothing by being called the same. */
function mapScopes(table: Issuer['scopes'], given: readonly string[]): readonly string[] {
  const mapped = Object.entries(table).flatMap(([ours, theirs]) =>
    theirs === 'any' || theirs.some((each) => given.includes(each)) ? [ours] : [],
  )
  return [...mapped, ...given.filter((each) => !Object.hasOwn(table, each))]
}

function tokenTimesToIso({ issuedAt, notBefore, expiresAt }: TokenClaims): Partial<ForeignTokenClaims> {
  return {
    ...(issuedAt === undefined ? {} : { issuedAt: secondsToIso(issuedAt) }),
    ...(notBefore === undefined ? {} : { notBefore: secondsToIso(notBefore) }),
    ...(expiresAt === undefined ? {} : { expiresAt: secondsToIso(expiresAt) }),
  }
}

function secondsToIso(seconds: number): string {
  return new Date(seconds * 1000).toISOString()
}

function isValidTokenId(id: string | undefined): id is string {
  return id !== undefined && /^[\w.:~-]{1,128}$/.test(id)
}

/** `#` parts whom from who, and what cannot be seen is written out. */
function percentEncodeSubject(text: string): string {
  return text.replaceAll(/[^\u0021-\u007e]|[#%]/gu, (each) => encodeURIComponent(each.toWellFormed()))
}
