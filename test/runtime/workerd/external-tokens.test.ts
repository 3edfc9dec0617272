// Tokens of other issuers in workerd: its WebCrypto checks every algorithm, its fetch takes what we ask of it, and invocations share
// what is known of an issuer.
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { expect, test } from 'vitest'
import { createExternalTokenVerifier } from '../../../src/identity/issuers/external-tokens.ts'
import { createIssuerCache } from '../../../src/identity/issuers/issuer-client.ts'
import { readTokenIssuers } from '../../../src/identity/issuers/token-issuers.ts'
import { createUnpinnedFetch, sha256Hex } from '../../../src/lib/index.ts'

const issuer = 'https://login.example'
const audience = 'https://gateway.example'
const asked: Request[] = []
let keys: object[] = []
const memory = createIssuerCache()

/** What one invocation has. */
function invocation() {
  const own = createUnpinnedFetch(async (input, init) => {
    // The runtime's own Request refuses what its fetch would.
    asked.push(new Request(input, init))
    return Response.json({ keys })
  })
  return createExternalTokenVerifier({
    issuers: readTokenIssuers([{ issuer, audience, jwksUrl: `${issuer}/keys` }], { hasPublicUrl: true, problems: [] }),
    fetch: { own, guarded: own },
    memory,
    used: { use: async () => true },
    hash: sha256Hex,
    now: Date.now,
    log: { warn() {} },
  })
}

test('a token is checked with the key it names, whichever the algorithm, and keys are fetched once', async () => {
  const algorithms = ['EdDSA', 'ES256', 'RS256', 'PS256']
  const pairs = await Promise.all(algorithms.map((alg) => generateKeyPair(alg, { extractable: true })))
  keys = await Promise.all(
    pairs.map(async ({ publicKey }, index) => ({ ...(await exportJWK(publicKey)), kid: `${index}` })),
  )
  const scene = { agent: 'demo', audiences: [], others: [] }
  for (const [index, alg] of algorithms.entries()) {
    const signed = new SignJWT({ scope: 'run' })
      .setProtectedHeader({ alg, kid: `${index}`, typ: 'at+jwt' })
      .setIssuer(issuer)
      .setAudience(audience)
      .setSubject('ada')
      .setIssuedAt()
      .setExpirationTime('5m')
    const token = await signed.sign(pairs[index]?.privateKey ?? expect.unreachable())
    expect(await invocation().verify(token, scene)).toMatchObject({
      kind: 'held',
      bearer: { subject: 'iss:login.example/ada' },
    })
    const forged = `${token.slice(0, -8)}AAAAAAAA`
    expect(await invocation().verify(forged, scene)).toEqual({ kind: 'rejected', reason: 'token_signature' })
  }
  expect(asked.map(({ url, redirect }) => [url, redirect])).toEqual([[`${issuer}/keys`, 'manual']])
})
