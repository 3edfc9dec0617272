// The client of configured token issuers: their keys (JWKS) and token introspection, bounded to seconds and kilobytes, without
// redirects.

import { createLocalJWKSet } from 'jose'
import * as z from 'zod'
import type { RejectReason } from '../../contract/index.ts'
import { parseBoundedJson } from '../../lib/index.ts'
import type { Log } from '../../lib/log.ts'
import type { SafeFetch, SafeFetchOptions } from '../../lib/safe-fetch-port.ts'
import { readTokenClaims, type TokenClaims } from './token-claims.ts'
import type { IntrospectedIssuer, JwtIssuer } from './token-issuers.ts'

const defaultTimeoutMs = 5000
const maxBytes = 256 * 1024

export type IssuerFetch = {
  /** For origins the operator wrote down, wherever they are. */
  readonly own: SafeFetch
  /** For what a document of the issuer's names: public addresses only. */
  readonly guarded: SafeFetch
  /** For a whole answer. Without it: five seconds. */
  readonly timeoutMs?: number
}

type IssuerAnswer =
  | { readonly ok: true; readonly body: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly reason: string }

async function fetchIssuerJson(
  { own, guarded, timeoutMs = defaultTimeoutMs }: IssuerFetch,
  url: string,
  written: readonly string[],
  options: Pick<SafeFetchOptions, 'method' | 'headers' | 'body'> = {},
): Promise<IssuerAnswer> {
  const { origin } = new URL(url)
  const isWritten = written.some((each) => new URL(each).origin === origin)
  // Over the body as well: an issuer that sends it slowly must not hold a caller.
  const bounds = { maxBytes, timeoutMs, signal: AbortSignal.timeout(timeoutMs) }
  const asked = { ...options, ...bounds, headers: { accept: 'application/json', ...options.headers } }
  const outcome = isWritten ? await own.fetch(url, { ...asked, origins: [origin] }) : await guarded.fetch(url, asked)
  if (outcome.kind !== 'answered')
    return { ok: false, reason: outcome.reason === 'aborted' ? 'timeout' : outcome.reason }
  const { response } = outcome
  if (response.status !== 200) {
    await response.body?.cancel().catch(() => undefined)
    return { ok: false, reason: `status_${response.status}` }
  }
  const bytes = await response.arrayBuffer().catch(() => undefined)
  if (bytes === undefined) return { ok: false, reason: 'cut_off_or_too_large' }
  const json = parseBoundedJson(new Uint8Array(bytes))
  return json.ok ? { ok: true, body: json.value } : json
}

// Cached are plain values only, since on Workers an invocation may read what another one fetched and never wait for it.

type CachedKeys = {
  readonly kids: ReadonlySet<string>
  readonly find: ReturnType<typeof createLocalJWKSet>
  readonly at: number
}

/** `triedAt`: when they were last asked for; `isFailing`: in vain. */
type KeyRecord = { kept?: CachedKeys; triedAt: number; isFailing: boolean }

export type CachedIntrospection = { readonly claims: TokenClaims; readonly until: number }

export type IssuerCache = {
  /** By issuer. */
  readonly keys: Map<string, KeyRecord>
  /** By the hash of a token. */
  readonly answers: Map<string, CachedIntrospection>
}

export function createIssuerCache(): IssuerCache {
  return { keys: new Map(), answers: new Map() }
}

// Keys are fresh for ten minutes; asked for again when a token names one we do not know, at most twice a minute, however many
// senders bring tokens; when the issuer is down, what is known counts for an hour.

const freshMs = 10 * 60_000
const cooldownMs = 30_000
const maxAgeMs = 60 * 60_000

export type IssuerKeyDeps = {
  readonly fetch: IssuerFetch
  readonly memory: IssuerCache
  readonly now: () => number
  readonly log: Pick<Log, 'warn'>
}

export type KeyLookup =
  | { readonly kind: 'found'; readonly keys: CachedKeys['find'] }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'unavailable' }

export interface IssuerKeys {
  find(kid: string): Promise<KeyLookup>
}

type Issuer = Pick<JwtIssuer, 'issuer' | 'jwksUrl'>

export function createIssuerKeyCache(deps: IssuerKeyDeps, issuer: Issuer): IssuerKeys {
  const { memory } = deps
  let asking: Promise<void> | undefined
  const ageMsSince = (since: number): number => {
    const ms = deps.now() - since
    // A clock that was set back says nothing about age.
    return ms < 0 ? Number.POSITIVE_INFINITY : ms
  }
  return {
    async find(kid) {
      const record = memory.keys.get(issuer.issuer) ?? { triedAt: Number.NEGATIVE_INFINITY, isFailing: false }
      memory.keys.set(issuer.issuer, record)
      const hasFreshKey = (): boolean => record.kept?.kids.has(kid) === true && ageMsSince(record.kept.at) <= maxAgeMs
      const isFresh = record.kept !== undefined && ageMsSince(record.kept.at) < freshMs
      if (!(isFresh && hasFreshKey())) {
        // A caller that can be answered from memory does not wait for a refresh that another one began.
        if (asking === undefined && ageMsSince(record.triedAt) >= cooldownMs)
          asking = refreshIssuerKeys(deps, issuer, record).finally(() => {
            asking = undefined
          })
        else if (hasFreshKey()) return toKeyLookup(record)
        await asking
      }
      if (hasFreshKey()) return toKeyLookup(record)
      return { kind: record.isFailing || record.kept === undefined ? 'unavailable' : 'unknown' }
    },
  }
}

function toKeyLookup({ kept }: KeyRecord): KeyLookup {
  return kept === undefined ? { kind: 'unavailable' } : { kind: 'found', keys: kept.find }
}

async function refreshIssuerKeys(deps: IssuerKeyDeps, issuer: Issuer, record: KeyRecord): Promise<void> {
  record.triedAt = deps.now()
  // Counts as failing until the answer is there: a caller that comes meanwhile is told to retry.
  record.isFailing = true
  const answer = await fetchIssuerKeys(deps, issuer)
  const kept = answer.ok ? parseKeySet(answer.body, deps.now()) : undefined
  if (kept !== undefined) record.kept = kept
  record.isFailing = kept === undefined
  if (kept === undefined)
    deps.log.warn('token_issuer_failed', {
      reason: answer.ok ? 'no_keys' : answer.reason,
      problem: `the keys of ${issuer.issuer} could not be read`,
    })
}

async function fetchIssuerKeys({ fetch }: IssuerKeyDeps, { issuer, jwksUrl }: Issuer): Promise<IssuerAnswer> {
  if (jwksUrl !== undefined) return fetchIssuerJson(fetch, jwksUrl, [jwksUrl])
  const metadata = await fetchIssuerMetadata(fetch, issuer)
  if (!metadata.ok) return metadata
  const { success, data } = metadataSchema.safeParse(metadata.body)
  // RFC 8414 section 3.3: a document about another issuer is refused.
  if (!success || data.issuer !== issuer) return { ok: false, reason: 'metadata_of_another' }
  return fetchIssuerJson(fetch, data.jwks_uri, [issuer])
}

const metadataSchema = z.looseObject({ issuer: z.string(), jwks_uri: z.url({ protocol: /^https?$/ }) })

async function fetchIssuerMetadata(fetch: IssuerFetch, issuer: string): Promise<IssuerAnswer> {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/+$/, '')
  const first = await fetchIssuerJson(fetch, `${origin}${path}/.well-known/openid-configuration`, [issuer])
  if (first.ok || !/^status_4/.test(first.reason)) return first
  return fetchIssuerJson(fetch, `${origin}/.well-known/oauth-authorization-server${path}`, [issuer])
}

const keySchema = z.looseObject({ kty: z.enum(['RSA', 'EC', 'OKP']), kid: z.string().min(1).max(256) })
const keySetSchema = z.looseObject({ keys: z.array(z.unknown()).max(100) })

/** Public keys with a name. A secret key in a public document proves no issuer any more. */
function parseKeySet(body: Readonly<Record<string, unknown>>, at: number): CachedKeys | undefined {
  const keys = (keySetSchema.safeParse(body).data?.keys ?? []).flatMap((key) => {
    const { data } = keySchema.safeParse(key)
    return data === undefined || 'd' in data ? [] : [data]
  })
  if (keys.length === 0) return undefined
  return { kids: new Set(keys.map(({ kid }) => kid)), find: createLocalJWKSet({ keys }), at }
}

// Token introspection (RFC 7662) for opaque tokens. A good answer is believed for a short while.

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

export function createTokenIntrospector(
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
    const outcome = checkIntrospectedClaims(claims, issuer, now())
    if (outcome.ok) cacheIntrospection(memory, key, { claims, until: now() + issuer.cacheSeconds * 1000 })
    return outcome
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
