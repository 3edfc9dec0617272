// From claims that hold to the bearer they make: who it is here, what it may do, what is written down about it.
import { type Bearer, type ForeignTokenClaims, isPlainSubject } from '../../contract/index.ts'
import type { TokenClaims } from './token-claims.ts'
import type { IntrospectedIssuer, JwtIssuer } from './token-issuer.ts'

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
export async function toBearer(
  hash: (text: string) => Promise<string>,
  issuer: Issuer,
  { claims, kind, agent }: CheckedTokenClaims,
): Promise<Bearer | undefined> {
  const about = `${issuer.subjectPrefix}${percentEncodeSubject(claims.subject)}`
  const user = claims.actors[0] ?? claims.client
  const subject = user === undefined || user === claims.subject ? about : `${about}#${percentEncodeSubject(user)}`
  if (!isPlainSubject(subject)) return undefined
  const digits = (await hash(subject)).slice(0, 16)
  return {
    tokenId: isPlainTokenId(claims.id) ? claims.id : digits,
    subject,
    agent,
    name: `caller-${digits}`,
    scopes: mapScopes(issuer.scopes, claims.scopes),
    vouched: {
      issuer: issuer.issuer,
      kind,
      ...voucherTimes(claims),
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

function voucherTimes({ issuedAt, notBefore, expiresAt }: TokenClaims): Partial<ForeignTokenClaims> {
  return {
    ...(issuedAt === undefined ? {} : { issuedAt: secondsToIso(issuedAt) }),
    ...(notBefore === undefined ? {} : { notBefore: secondsToIso(notBefore) }),
    ...(expiresAt === undefined ? {} : { expiresAt: secondsToIso(expiresAt) }),
  }
}

function secondsToIso(seconds: number): string {
  return new Date(seconds * 1000).toISOString()
}

function isPlainTokenId(id: string | undefined): id is string {
  return id !== undefined && /^[\w.:~-]{1,128}$/.test(id)
}

/** `#` parts whom from who, and what cannot be seen is written out. */
function percentEncodeSubject(text: string): string {
  return text.replaceAll(/[^\u0021-\u007e]|[#%]/gu, (each) => encodeURIComponent(each.toWellFormed()))
}
