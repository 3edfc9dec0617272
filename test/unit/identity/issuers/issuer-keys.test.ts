// The keys of an issuer: fetched once, again when one is new, never as often as somebody sends tokens, and kept while it is down.
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  createIssuerCache,
  createIssuerKeyCache,
  type IssuerKeys,
} from '../../../../src/identity/issuers/issuer-client.ts'
import { createSafeFetch, createUnpinnedFetch } from '../../../../src/lib/index.ts'
import { signingKey, startTokenIssuer, type TokenIssuerDouble } from '../../../doubles/token-issuer.ts'

const minute = 60_000
const closed = createSafeFetch({ pins: true, dial: async () => 'address' })

let issuer: TokenIssuerDouble
let keys: IssuerKeys
let now: number
let reasons: string[]
const memory = () => createIssuerCache()
const open = (kept = memory(), jwksUrl: string | undefined = `${issuer.origin}/keys`) =>
  createIssuerKeyCache(
    {
      fetch: { own: createUnpinnedFetch(fetch), guarded: closed, timeoutMs: 200 },
      memory: kept,
      now: () => now,
      log: { warn: (_event, facts) => void reasons.push(facts?.reason ?? '') },
    },
    { issuer: issuer.origin, ...(jwksUrl === '' ? { jwksUrl: undefined } : { jwksUrl }) },
  )
const kind = async (kid: string) => (await keys.find(kid)).kind

beforeEach(async () => {
  now = 1_000_000
  reasons = []
  issuer = await startTokenIssuer()
  keys = open()
})
afterEach(async () => {
  expect(issuer.unexpected).toEqual([])
  await issuer.close()
})

test('keys of an issuer are asked for once in ten minutes, however many ask', async () => {
  expect(await Promise.all([kind('key-1'), kind('key-1'), kind('key-1')])).toEqual(['found', 'found', 'found'])
  now += 9 * minute
  expect(await kind('key-1')).toBe('found')
  expect(issuer.asked('keys')).toBe(1)
  now += 2 * minute
  expect(await kind('key-1')).toBe('found')
  expect(issuer.asked('keys')).toBe(2)
})

test('AU-03 a new one is found with one more request, and a flood of unknown ones causes no other', async () => {
  await kind('key-1')
  issuer.keys.push(await signingKey('key-2'))
  now += minute
  expect(await kind('key-2')).toBe('found')
  expect(issuer.asked('keys')).toBe(2)
  const flood = await Promise.all(Array.from({ length: 200 }, (_, index) => kind(`made-up-${index}`)))
  expect(new Set(flood)).toEqual(new Set(['unknown']))
  now += 29_000
  expect(await kind('made-up')).toBe('unknown')
  expect(issuer.asked('keys')).toBe(2)
  now += 2_000
  expect(await kind('made-up')).toBe('unknown')
  expect(issuer.asked('keys')).toBe(3)
})

test('one that is not published any more counts no longer', async () => {
  await kind('key-1')
  issuer.keys.splice(0, 1, await signingKey('key-2'))
  now += 11 * minute
  expect([await kind('key-1'), await kind('key-2')]).toEqual(['unknown', 'found'])
})

test('AU-04 those that are known count for an hour while the issuer is down, and are asked for twice a minute', async () => {
  await kind('key-1')
  issuer.failAlways('keys', { kind: 'drop', when: 'before' })
  now += 11 * minute
  for (let times = 0; times < 20; times += 1) expect(await kind('key-1')).toBe('found')
  expect(issuer.asked('keys')).toBe(2)
  expect(await kind('key-2')).toBe('unavailable')
  now += 50 * minute
  expect(await kind('key-1')).toBe('unavailable')
  issuer.failAlways('keys', undefined)
  now += minute
  expect(await kind('key-1')).toBe('found')
  expect(reasons).toEqual(['unreachable', 'unreachable'])
})

test.each([
  ['a slow one', { kind: 'hang' }, 'timeout'],
  ['an error', { kind: 'answer', status: 500, body: '{}' }, 'status_500'],
  [
    'a redirect',
    { kind: 'answer', status: 302, body: '', headers: { location: 'https://evil.example/keys' } },
    'redirect',
  ],
  [
    'too much',
    { kind: 'answer', status: 200, body: JSON.stringify({ keys: ['x'.repeat(300_000)] }) },
    'cut_off_or_too_large',
  ],
  ['no JSON', { kind: 'answer', status: 200, body: '<html>' }, 'invalid_json'],
  ['no keys', { kind: 'answer', status: 200, body: '{"keys":[]}' }, 'no_keys'],
  [
    'a thousand',
    { kind: 'answer', status: 200, body: JSON.stringify({ keys: Array(1000).fill({ kty: 'EC', kid: 'key-1' }) }) },
    'no_keys',
  ],
  [
    'a shared secret',
    { kind: 'answer', status: 200, body: '{"keys":[{"kty":"oct","kid":"key-1","k":"c2VjcmV0"}]}' },
    'no_keys',
  ],
  ['a private key', { kind: 'answer', status: 200, body: '{"keys":[{"kty":"EC","kid":"key-1","d":"AA"}]}' }, 'no_keys'],
] as const)(
  'keys of an issuer are not there where the issuer answers with %s, and it is asked again half a minute later',
  async (_name, fault, reason) => {
    issuer.failNext('keys', fault)
    expect([await kind('key-1'), await kind('key-1')]).toEqual(['unavailable', 'unavailable'])
    expect(issuer.asked('keys')).toBe(1)
    expect(reasons).toEqual([reason === 'cut_off_or_too_large' ? expect.stringMatching(/too_large/) : reason])
    now += 31_000
    expect(await kind('key-1')).toBe('found')
  },
)

test('keys of an issuer are where the issuer’s metadata says', async () => {
  keys = open(memory(), '')
  expect(await kind('key-1')).toBe('found')
  expect([issuer.asked('metadata'), issuer.asked('keys')]).toEqual([1, 1])
})

test.each([
  [
    'of another issuer',
    (origin: string) => ({ issuer: 'https://other.example', jwks_uri: `${origin}/keys` }),
    'metadata_of_another',
  ],
  // A document may name any place; what is not public is not asked.
  ['that point inside', (origin: string) => ({ issuer: origin, jwks_uri: 'http://169.254.169.254/keys' }), 'scheme'],
])('keys of an issuer are not believed by metadata %s', async (_name, metadata, reason) => {
  issuer.failNext('metadata', { kind: 'answer', status: 200, body: JSON.stringify(metadata(issuer.origin)) })
  keys = open(memory(), '')
  expect(await kind('key-1')).toBe('unavailable')
  expect(reasons).toEqual([reason])
})

test('keys of an issuer are known to whoever shares the memory, as invocations of a Worker do', async () => {
  const shared = memory()
  keys = open(shared)
  await kind('key-1')
  keys = open(shared)
  expect(await kind('key-1')).toBe('found')
  expect(issuer.asked('keys')).toBe(1)
})
