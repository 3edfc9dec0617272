// An opaque token: its issuer is asked what it is (RFC 7662). A good answer is believed for a short while.
import type { Log, RejectReason } from '../../contract/index.ts'
import { fetchIssuerJson, type IssuerFetch } from './ask-issuer.ts'
import type { IssuerCache } from './issuer-memory.ts'
import { readTokenClaims, type TokenClaims } from './token-claims.ts'
import type { IntrospectedIssuer } from './token-issuer.ts'

/** A flood of made-up tokens must not become a flood of questions. */
const maxAsking = 32
const maxAnswers = 1000

export type IntrospectionDeps = {
  readonly fetch: IssuerFetch
  readonly memory: IssuerCache
  readonly hash: (text: string) => Promise<string>
  readonly now: () => number
  readonly log: Pick<Log, 'warn'>
}

export type IntrospectionResult =
  | { readonly ok: true; readonly claims: TokenClaims }
  | { readonly ok: false; readonly reason: RejectReason }

export function createIntrospection(
  deps: IntrospectionDeps,
  issuer: IntrospectedIssuer,
): (token: string) => Promise<IntrospectionResult> {
  const { memory, now } = deps
  let asking = 0
  return async (token) => {
    const key = await deps.hash(token)
    const kept = memory.answers.get(key)
    const known = kept !== undefined && now() < kept.until ? kept.claims : undefined
    if (known !== undefined) return checkIntrospectedClaims(known, issuer, now())
    memory.answers.delete(key)
    if (asking >= maxAsking) return { ok: false, reason: 'issuer_unavailable' }
    asking += 1
    const answer = await requestIntrospection(deps, issuer, token).finally(() => {
      asking -= 1
    })
    if (answer === undefined) return { ok: false, reason: 'issuer_unavailable' }
    if (answer['active'] !== true) return { ok: false, reason: 'token_inactive' }
    const claims = readTokenClaims(answer)
    if (claims === undefined) return { ok: false, reason: 'invalid_token' }
    const verdict = checkIntrospectedClaims(claims, issuer, now())
    if (verdict.ok) cacheIntrospection(memory, key, { claims, until: now() + issuer.cacheSeconds * 1000 })
    return verdict
  }
}

function checkIntrospectedClaims(
  claims: TokenClaims,
  { issuer }: IntrospectedIssuer,
  nowMs: number,
): IntrospectionResult {
  if (claims.issuer !== undefined && claims.issuer !== issuer) return { ok: false, reason: 'token_issuer' }
  const { expiresAt = Number.POSITIVE_INFINITY, notBefore = 0 } = claims
  // Its own server's clock has said that it is active; no skew of ours makes it live longer.
  if (nowMs / 1000 >= expiresAt) return { ok: false, reason: 'token_expired' }
  return nowMs / 1000 + 60 < notBefore ? { ok: false, reason: 'token_not_yet_valid' } : { ok: true, claims }
}

async function requestIntrospection(
  { fetch, log }: IntrospectionDeps,
  { issuer, introspectionUrl, clientId, clientSecret }: IntrospectedIssuer,
  token: string,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  // RFC 6749 section 2.3.1: both are written as in a form before they are joined.
  const pair = [clientId, clientSecret.reveal()].map(formEncode).join(':')
  const answer = await fetchIssuerJson(fetch, introspectionUrl, [introspectionUrl], {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(pair)}`, 'content-type': 'application/x-www-form-urlencoded' },
    body: `token=${formEncode(token)}&token_type_hint=access_token`,
  })
  if (answer.ok) return answer.body
  const problem = `${issuer} could not be asked about a token`
  log.warn('token_issuer_failed', { reason: answer.reason, problem })
  return undefined
}

function formEncode(text: string): string {
  return new URLSearchParams({ text }).toString().slice('text='.length)
}

/** The oldest go first; a Map keeps them in order. */
function cacheIntrospection(memory: IssuerCache, key: string, answer: { claims: TokenClaims; until: number }): void {
  memory.answers.set(key, answer)
  for (const oldest of memory.answers.keys()) {
    if (memory.answers.size <= maxAnswers) break
    memory.answers.delete(oldest)
  }
}
