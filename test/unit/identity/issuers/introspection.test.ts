// Opaque tokens: their issuer is asked, with the gateway's own secret, for every token it has not just answered for.
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  createIssuerCache,
  createTokenIntrospector,
  type IssuerCache,
} from '../../../../src/identity/issuers/issuer-client.ts'
import { createUnpinnedFetch, sha256Hex } from '../../../../src/lib/index.ts'
import { secret } from '../../../../src/lib/secret.ts'
import { audience, client, startTokenIssuer, type TokenIssuerDouble } from '../../../doubles/token-issuer.ts'

let issuer: TokenIssuerDouble
let now: number
let memory: IssuerCache
const asker = (changes: { clientSecret?: string; cacheSeconds?: number } = {}) => {
  const own = createUnpinnedFetch(fetch)
  const deps = {
    fetch: { own, guarded: own, timeoutMs: 200 },
    memory,
    hash: sha256Hex,
    now: () => now,
    log: { warn() {} },
  }
  return createTokenIntrospector(deps, {
    issuer: issuer.origin,
    audience: [audience],
    scopes: {},
    subjectPrefix: 'iss:x/',
    introspectionUrl: `${issuer.origin}/introspect`,
    clientId: client.clientId,
    cacheSeconds: 30,
    ...changes,
    clientSecret: secret(changes.clientSecret ?? client.clientSecret),
  })
}
const seconds = () => Math.floor(now / 1000)

beforeEach(async () => {
  now = 1_800_000_000_000
  memory = createIssuerCache()
  issuer = await startTokenIssuer()
  issuer.tokens.set('good', { sub: 'ada', client_id: 'app', scope: 'run own', aud: audience, exp: seconds() + 20 })
})
afterEach(async () => {
  expect(issuer.unexpected).toEqual([])
  await issuer.close()
})

test('a good answer is believed for its time, under a hash of the token, and never past the token’s own', async () => {
  const ask = asker()
  for (let times = 0; times < 3; times += 1)
    expect(await ask('good')).toMatchObject({
      ok: true,
      claims: { subject: 'ada', client: 'app', scopes: ['run', 'own'] },
    })
  expect(issuer.asked('introspect')).toBe(1)
  expect(JSON.stringify([...memory.answers])).not.toContain('good')
  now += 21_000
  expect(await ask('good')).toEqual({ ok: false, reason: 'token_expired' })
  now += 10_000
  issuer.tokens.delete('good')
  expect(await ask('good')).toEqual({ ok: false, reason: 'token_inactive' })
})

test('a revoked token is noticed when the answer is too old; without a memory at once', async () => {
  const ask = asker({ cacheSeconds: 0 })
  expect(await ask('good')).toMatchObject({ ok: true })
  issuer.tokens.delete('good')
  expect(await ask('good')).toEqual({ ok: false, reason: 'token_inactive' })
})

test.each([
  ['not known', undefined, 'token_inactive'],
  ['not active', { active: false, sub: 'ada' }, 'token_inactive'],
  ['active by a word', { active: 'true', sub: 'ada' }, 'token_inactive'],
  ['of another issuer', { iss: 'https://other.example', sub: 'ada' }, 'token_issuer'],
  ['of tomorrow', { sub: 'ada', nbf: 1_800_000_100 }, 'token_not_yet_valid'],
  ['nobody’s', { scope: 'run' }, 'invalid_token'],
])('a token that is %s is refused', async (_name, claims, reason) => {
  if (claims !== undefined) issuer.tokens.set('token', claims)
  expect(await asker()('token')).toEqual({ ok: false, reason })
  expect(memory.answers.size).toBe(0)
})

test.each([
  ['hangs', { kind: 'hang' }],
  ['fails', { kind: 'answer', status: 500, body: '{}' }],
  ['says something else', { kind: 'answer', status: 200, body: 'active' }],
  ['is gone', { kind: 'drop', when: 'before' }],
] as const)('AU-10 nobody is let in or called a liar while the server %s', async (_name, fault) => {
  issuer.failNext('introspect', fault)
  expect(await asker()('good')).toEqual({ ok: false, reason: 'issuer_unavailable' })
  expect(await asker()('good')).toMatchObject({ ok: true })
})

test('with a wrong secret of ours it is the gateway that cannot ask', async () => {
  expect(await asker({ clientSecret: 'wrong' })('good')).toEqual({ ok: false, reason: 'issuer_unavailable' })
})

test('a flood of made-up tokens is not handed on, and what is remembered stays bounded', async () => {
  issuer.failAlways('introspect', { kind: 'hang' })
  const ask = asker()
  const flood = await Promise.all(Array.from({ length: 200 }, (_, index) => ask(`made-up-${index}`)))
  expect(new Set(flood.map((each) => !each.ok && each.reason))).toEqual(new Set(['issuer_unavailable']))
  expect(issuer.asked('introspect')).toBeLessThanOrEqual(32)
  issuer.failAlways('introspect', undefined)
  for (let index = 0; index < 1100; index += 1) issuer.tokens.set(`t-${index}`, { sub: 'ada' })
  for (let index = 0; index < 1100; index += 1) await ask(`t-${index}`)
  expect(memory.answers.size).toBe(1000)
})
