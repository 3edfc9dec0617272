// The public keys of a configured issuer. Fresh for ten minutes; asked for again when a token names one we do not know, at most
// twice a minute, however many senders bring tokens; when the issuer is down, what is known counts for an hour.
import { createLocalJWKSet } from 'jose'
import * as z from 'zod'
import type { Log } from '../../contract/index.ts'
import { fetchIssuerJson, type IssuerAnswer, type IssuerFetch } from './ask-issuer.ts'
import type { CachedKeys, IssuerCache, KeyRecord } from './issuer-memory.ts'
import type { JwtIssuer } from './token-issuer.ts'

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

export function createIssuerKeys(deps: IssuerKeyDeps, issuer: Issuer): IssuerKeys {
  const { memory } = deps
  let asking: Promise<void> | undefined
  const age = (since: number): number => {
    const ms = deps.now() - since
    // A clock that was set back says nothing about age.
    return ms < 0 ? Number.POSITIVE_INFINITY : ms
  }
  return {
    async find(kid) {
      const record = memory.keys.get(issuer.issuer) ?? { triedAt: Number.NEGATIVE_INFINITY, isFailing: false }
      memory.keys.set(issuer.issuer, record)
      const knows = (): boolean => record.kept?.kids.has(kid) === true && age(record.kept.at) <= maxAgeMs
      const isFresh = record.kept !== undefined && age(record.kept.at) < freshMs
      if (!(isFresh && knows())) {
        // A caller that can be answered from memory does not wait for a refresh that another one began.
        if (asking === undefined && age(record.triedAt) >= cooldownMs)
          asking = refreshIssuerKeys(deps, issuer, record).finally(() => {
            asking = undefined
          })
        else if (knows()) return toKeyLookup(record)
        await asking
      }
      if (knows()) return toKeyLookup(record)
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
  const metadata = await discoverJwksUrl(fetch, issuer)
  if (!metadata.ok) return metadata
  const { success, data } = metadataSchema.safeParse(metadata.body)
  // RFC 8414 section 3.3: a document about another issuer is refused.
  if (!success || data.issuer !== issuer) return { ok: false, reason: 'metadata_of_another' }
  return fetchIssuerJson(fetch, data.jwks_uri, [issuer])
}

const metadataSchema = z.looseObject({ issuer: z.string(), jwks_uri: z.url({ protocol: /^https?$/ }) })

async function discoverJwksUrl(fetch: IssuerFetch, issuer: string): Promise<IssuerAnswer> {
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
