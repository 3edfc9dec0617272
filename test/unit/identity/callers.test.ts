// What adapters ask the desk: whether a token may do something, and what to tell whoever may not.
import { expect, test } from 'vitest'
import type { TokenRequirements } from '../../../src/contract/caller.ts'
import { hasBearerScope } from '../../../src/contract/index.ts'
import type { TokenStore } from '../../../src/db/tokens.ts'
import { createCallerService } from '../../../src/identity/callers.ts'
import { createExternalTokenVerifier } from '../../../src/identity/issuers/external-tokens.ts'
import { createIssuerCache } from '../../../src/identity/issuers/issuer-client.ts'
import {
  protectedResourceMetadataUrl,
  readTokenIssuers,
  type TokenIssuerSettings,
} from '../../../src/identity/issuers/token-issuers.ts'
import { createUnpinnedFetch, sha256Hex } from '../../../src/lib/index.ts'
import { startTokenIssuer, type TokenIssuerDouble } from '../../doubles/token-issuer.ts'

const own = 'https://gateway.example/agents'
const refuses = () => Promise.reject(new Error('no store is asked about somebody else’s token'))
const tokens: TokenStore = { add: refuses, list: refuses, find: refuses, touch: refuses, revoke: refuses }

function deskOf(issuer: TokenIssuerDouble, changes: Partial<TokenIssuerSettings> = {}) {
  const problems: string[] = []
  const entry = { issuer: issuer.origin, audience: `${own}/{agent}`, ...changes }
  const outside = createExternalTokenVerifier({
    issuers: readTokenIssuers([entry], { hasPublicUrl: true, problems }),
    fetch: { own: createUnpinnedFetch(fetch), guarded: createUnpinnedFetch(fetch) },
    memory: createIssuerCache(),
    used: { use: async () => true },
    hash: sha256Hex,
    now: Date.now,
    log: { warn() {} },
  })
  expect(problems).toEqual([])
  return createCallerService({
    tokens,
    hash: sha256Hex,
    isShared: true,
    agents: ['one', 'two'],
    outside,
    realm: 'gateway.example',
    metadataUrl: (resource) => protectedResourceMetadataUrl('https://gateway.example', resource),
  })
}

async function withIssuer(work: (issuer: TokenIssuerDouble) => Promise<void>): Promise<void> {
  const issuer = await startTokenIssuer()
  try {
    await work(issuer)
  } finally {
    await issuer.close()
  }
  expect(issuer.unexpected).toEqual([])
}

test('AU-06 where a request names its agent, a token for another one will not do', () =>
  withIssuer(async (issuer) => {
    const desk = deskOf(issuer)
    const headers = { authorization: `Bearer ${await issuer.sign({ aud: `${own}/two` })}` }
    const verdict = async (agent: string, wish: TokenRequirements) => {
      const { kind, ...more } = await desk.identify(headers, agent, wish)
      return 'reason' in more ? more.reason : kind
    }
    expect(await verdict('two', { isNamed: true })).toBe('identified')
    expect(await verdict('one', { isNamed: true })).toBe('token_audience')
    expect(await verdict('one', {})).toBe('identified')
  }))

test('a token made out to the URL an adapter names is for that agent', () =>
  withIssuer(async (issuer) => {
    const url = 'https://gateway.example/elsewhere/one'
    const headers = { authorization: `Bearer ${await issuer.sign({ aud: url })}` }
    const verdict = await deskOf(issuer).identify(headers, 'one', { audiences: [url], isNamed: true })
    expect(verdict).toMatchObject({ kind: 'identified', bearer: { agent: 'one', claims: { agent: 'one' } } })
  }))

test('AU-05 each operation needs its scope; what is missing is named', () =>
  withIssuer(async (issuer) => {
    const desk = deskOf(issuer)
    const headers = {
      authorization: `Bearer ${await issuer.sign({ aud: `${own}/one`, scope: 'task.read task.list' })}`,
    }
    const verdict = await desk.identify(headers, 'one')
    const bearer = verdict.kind === 'identified' ? verdict.bearer : expect.unreachable()
    expect(['task.read', 'task.cancel', 'run'].map((scope) => hasBearerScope(bearer, scope))).toEqual([
      true,
      false,
      false,
    ])
    expect(await desk.identify(headers, 'one', { scope: 'task.cancel', audiences: [`${own}/one`] })).toEqual({
      kind: 'rejected',
      reason: 'insufficient_scope',
      challenge:
        'Bearer realm="gateway.example", error="insufficient_scope", scope="task.cancel", resource_metadata="https://gateway.example/.well-known/oauth-protected-resource/agents/one"',
    })
  }))

test('the challenge names what is wrong and where tokens come from, and holds nothing that ends it early', () =>
  withIssuer(async (issuer) => {
    const desk = deskOf(issuer)
    const metadata = 'resource_metadata="https://gateway.example/.well-known/oauth-protected-resource"'
    expect(desk.challenge('missing_credential')).toBe(`Bearer realm="gateway.example", ${metadata}`)
    expect(desk.challenge('token_expired')).toBe(
      `Bearer realm="gateway.example", error="invalid_token", error_description="token_expired", ${metadata}`,
    )
    expect(desk.challenge('insufficient_scope', { scope: 'a"\r\nx: y' })).toContain('scope="ax: y"')
  }))

test('a caller without a token may what its channel lets it', () => {
  expect([hasBearerScope(undefined, 'run'), hasBearerScope({}, 'run'), hasBearerScope({ scopes: [] }, 'run')]).toEqual([
    true,
    true,
    false,
  ])
})
