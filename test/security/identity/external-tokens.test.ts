// Tokens of a configured issuer that somebody forged, stole, bent or used twice (a2a AU-01 to AU-06): each refused with a reason of
// its own, on this machine too; nothing is stored, no key is fetched from where the token says, and no log holds the token.
import { base64url, SignJWT, UnsecuredJWT } from 'jose'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import { nameStatement } from '../../../src/db/client.ts'
import { type Api, startApi } from '../../doubles/api.ts'
import { operatorToken } from '../../doubles/test-app.ts'
import {
  audience,
  client,
  type SigningKey,
  signingKey,
  startTokenIssuer,
  type TokenIssuerDouble,
} from '../../doubles/token-issuer.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const inbox = nameStatement('test_inbox', 'select id from inbox')
const seconds = () => Math.floor(Date.now() / 1000)

let issuer: TokenIssuerDouble
let strangers: SigningKey
let rsa: SigningKey

beforeAll(async () => {
  issuer = await startTokenIssuer()
  strangers = await signingKey('key-1')
  rsa = await signingKey('rsa', 'RS256')
  issuer.keys.unshift(rsa)
})
afterAll(async () => {
  // Nobody was ever sent anywhere but to the keys.
  expect(issuer.unexpected).toEqual([])
  await issuer.close()
})

/** The same three parts, with another header or payload. */
const bent = (token: string, changes: { header?: object; payload?: object }): string => {
  const [head = '', body = '', signature = ''] = token.split('.')
  const part = (text: string, change: object | undefined) =>
    change === undefined
      ? text
      : base64url.encode(JSON.stringify({ ...JSON.parse(new TextDecoder().decode(base64url.decode(text))), ...change }))
  return [part(head, changes.header), part(body, changes.payload), signature].join('.')
}
const unsigned = (claims: object) =>
  new UnsecuredJWT({ iss: issuer.origin, sub: 'ada', aud: audience, exp: seconds() + 60, ...claims }).encode()
/** The public key, which everybody knows, as if it were a secret both sides share. */
const byPublicKey = async (key: SigningKey) =>
  new SignJWT({ iss: issuer.origin, sub: 'ada', aud: audience, iat: seconds(), exp: seconds() + 60, scope: 'run' })
    .setProtectedHeader({ alg: 'HS256', kid: key.kid, typ: 'at+jwt' })
    .sign(new TextEncoder().encode(JSON.stringify(key.jwk)))

const attacks: [string, () => Promise<string> | string, string][] = [
  ['an opaque token', () => 'a-token-of-nobody', 'invalid_token'],
  ['three parts of nothing', () => 'a.b.c', 'invalid_token'],
  ['no signature (alg none)', () => unsigned({}), 'token_algorithm'],
  [
    'alg none in an odd spelling',
    async () => bent(await issuer.sign(), { header: { alg: 'nOnE' } }),
    'token_algorithm',
  ],
  ['HS256 with the public key', () => byPublicKey(issuer.keys[1] ?? rsa), 'token_algorithm'],
  ['HS256 with the RSA public key', () => byPublicKey(rsa), 'token_algorithm'],
  ['an algorithm for another key', async () => bent(await issuer.sign(), { header: { alg: 'RS256' } }), 'token_key'],
  ['a signature by somebody else', () => issuer.sign({}, { key: strangers }), 'token_signature'],
  ['a changed subject', async () => bent(await issuer.sign(), { payload: { sub: 'root' } }), 'token_signature'],
  ['a changed header', async () => bent(await issuer.sign(), { header: { cty: 'x' } }), 'token_signature'],
  ['no kid', () => issuer.sign({}, { header: { kid: undefined as unknown as string } }), 'token_key'],
  ['an unknown kid', () => issuer.sign({}, { header: { kid: 'key-9' } }), 'token_key'],
  ['a kid that is a path', () => issuer.sign({}, { header: { kid: '../../../../dev/null' } }), 'token_key'],
  ['a kid that is SQL', () => issuer.sign({}, { header: { kid: "x' union select 'key" } }), 'token_key'],
  ['a kid of the prototype', () => issuer.sign({}, { header: { kid: '__proto__' } }), 'token_key'],
  [
    'a key set of its own (jku)',
    () => issuer.sign({}, { key: strangers, header: { jku: `${issuer.origin}/evil` } }),
    'token_key_header',
  ],
  [
    'a certificate of its own (x5u)',
    () => issuer.sign({}, { key: strangers, header: { x5u: `${issuer.origin}/evil` } }),
    'token_key_header',
  ],
  [
    'a key of its own (jwk)',
    () => issuer.sign({}, { key: strangers, header: { jwk: strangers.jwk } }),
    'token_key_header',
  ],
  ['a chain of its own (x5c)', () => issuer.sign({}, { header: { x5c: ['MIIB'] } }), 'token_key_header'],
  ['an unknown issuer', () => issuer.sign({ iss: 'https://evil.example' }), 'token_issuer'],
  ['the issuer with a slash', () => issuer.sign({ iss: `${issuer.origin}/` }), 'token_issuer'],
  ['no issuer', () => issuer.sign({ iss: undefined }), 'token_issuer'],
  ['a list of issuers', () => issuer.sign({ iss: [issuer.origin] }), 'token_issuer'],
  ['another audience', () => issuer.sign({ aud: 'https://other.example' }), 'token_audience'],
  ['an audience that begins alike', () => issuer.sign({ aud: `${audience}.evil.example` }), 'token_audience'],
  ['no audience', () => issuer.sign({ aud: undefined }), 'token_audience'],
  ['an expired one', () => issuer.sign({ iat: seconds() - 400, exp: seconds() - 61 }), 'token_expired'],
  ['one of tomorrow (nbf)', () => issuer.sign({ nbf: seconds() + 90 }), 'token_not_yet_valid'],
  [
    'one made in the future (iat)',
    () => issuer.sign({ iat: seconds() + 90, exp: seconds() + 300 }),
    'token_not_yet_valid',
  ],
  ['one for ever', () => issuer.sign({ exp: undefined }), 'token_lifetime'],
  ['one without a beginning', () => issuer.sign({ iat: undefined }), 'token_lifetime'],
  ['one that lives too long', () => issuer.sign({ exp: seconds() + 3700 }), 'token_lifetime'],
  ['one that ends before it begins', () => issuer.sign({ exp: seconds() - 10 }), 'token_lifetime'],
  ['an end that is no number', () => issuer.sign({ exp: '9999999999' }), 'invalid_token'],
  ['another type', () => issuer.sign({}, { header: { typ: 'JWT' } }), 'token_type'],
  ['a logout token', () => issuer.sign({}, { header: { typ: 'logout+jwt' } }), 'token_type'],
  ['an id_token', () => issuer.sign({ nonce: 'n-1' }), 'token_type'],
  ['nobody’s', () => issuer.sign({ sub: undefined }), 'invalid_token'],
  ['a subject that is no text', () => issuer.sign({ sub: 7 }), 'invalid_token'],
  ['a subject of 10 KB', () => issuer.sign({ sub: 'a'.repeat(5000) }), 'invalid_token'],
  [
    'an endless chain of actors',
    () =>
      issuer.sign({ act: { sub: 'a', act: { sub: 'b', act: { sub: 'c', act: { sub: 'd', act: { sub: 'e' } } } } } }),
    'invalid_token',
  ],
  ['one without the scope', () => issuer.sign({ scope: 'a2a:task.read' }), 'insufficient_scope'],
  ['one without any scope', () => issuer.sign({ scope: undefined }), 'insufficient_scope'],
]

describeOnDatabase('the API with an issuer', (database) => {
  let api: Api
  const settings = () => ({ issuer: issuer.origin, jwksUrl: `${issuer.origin}/keys`, audience })
  beforeEach(() => {
    api = startApi(database(), undefined, 5_000, {}, { tokenIssuers: [settings()] })
  })
  afterEach(() => api.stop())

  test.each(attacks)('refuses %s, and tells why', async (_name, attack, code) => {
    const token = await attack()
    for (const isHere of [false, true]) {
      const answer = await api.run('r1', { token, isHere })
      const error = code === 'insufficient_scope' ? code : 'invalid_token'
      expect(answer).toMatchObject({
        status: error === code && code !== 'invalid_token' ? 403 : 401,
        body: { error: { code } },
      })
      expect(answer.headers.get('www-authenticate')).toContain(`Bearer realm="parley.localhost", error="${error}"`)
      expect(JSON.stringify(answer.body)).not.toContain(token.slice(-20))
      const { explanation } = (await api.operate('GET', `/admin/explain/${answer.body.error.trace}`)).body
      expect(explanation.story.headline).toContain(`(${code})`)
      expect(explanation.story.headline).not.toContain('did not prove its origin')
    }
    expect(await database().query(inbox, [])).toEqual([])
    expect(api.heard).toEqual([])
    expect(JSON.stringify(api.gateway.logged)).not.toContain(token.slice(-20))
  })

  test('takes what is right, signed by either key, a minute around its time', async () => {
    const good = [
      await issuer.sign(),
      await issuer.sign({}, { key: rsa }),
      await issuer.sign({ aud: ['https://other.example', audience] }),
      await issuer.sign({ iat: seconds() - 100, exp: seconds() - 40 }),
      await issuer.sign({ nbf: seconds() + 40 }),
      await issuer.sign({}, { header: { typ: 'application/AT+JWT' } }),
      await issuer.sign({ scope: undefined, scp: ['run'] }),
    ]
    for (const [index, token] of good.entries())
      expect(await api.run(`r${index}`, { token, threadId: `t${index}` })).toMatchObject({ status: 200 })
    expect(api.heard).toHaveLength(good.length)
  })

  test('AU-01 tells a caller without a token, or with another scheme, what to bring', async () => {
    const bare = await api.run('r1')
    expect(bare).toMatchObject({ status: 401, body: { error: { code: 'missing_credential' } } })
    expect(bare.headers.get('www-authenticate')).toBe('Bearer realm="parley.localhost"')
    const basic = await api.run('r1', { headers: { authorization: `Basic ${btoa('a:b')}` } })
    expect(basic).toMatchObject({ status: 401, body: { error: { code: 'invalid_token' } } })
  })

  test('shows nobody else a token that we made, also when it is wrong', async () => {
    await api.stop()
    const before = issuer.asked('introspect')
    const asked = { ...client, issuer: issuer.origin, audience, introspectionUrl: `${issuer.origin}/introspect` }
    const env = { PARLEY_ADMIN_TOKEN: operatorToken }
    api = startApi(database(), undefined, 5_000, {}, { tokenIssuers: [asked], env })
    for (const token of ['parley_00000000_wrong', 'parley_', operatorToken])
      expect(await api.run('r1', { token })).toMatchObject({ status: 401, body: { error: { code: 'invalid_token' } } })
    expect(issuer.asked('introspect')).toBe(before)
    expect((await api.run('r1', { token: 'theirs' })).body.error.code).toBe('token_inactive')
  })

  test('AU-06 a token for one agent opens no other, and a shared connection takes it to its own', async () => {
    await api.stop()
    const says = (slug: string) => defineAgent({ slug, run: () => `${slug} here` })
    const tokenIssuers = [{ ...settings(), audience: 'https://gateway.example/agents/{agent}' }]
    const alone = [{ channel: 'agui', id: 'demo', agent: 'one', settings: {} }]
    const token = await issuer.sign({ aud: 'https://gateway.example/agents/two' })
    api = startApi(database(), [says('one'), says('two')], 5_000, {}, { tokenIssuers, connections: alone })
    expect(await api.run('r1', { token })).toMatchObject({ status: 401, body: { error: { code: 'token_audience' } } })
    await api.stop()
    api = startApi(database(), [says('one'), says('two')], 5_000, {}, { tokenIssuers })
    expect((await api.run('r2', { token })).body.messages[0].content).toBe('two here')
    const toOne = await issuer.sign({ aud: 'https://gateway.example/agents/one' })
    const elsewhere = await api.run('r3', { token: toOne, text: '@two hello', threadId: 't3' })
    expect(elsewhere.body.error.code).toBe('wrong_agent')
  })

  test('a token that counts once counts once, whichever replica it is shown to', async () => {
    await api.stop()
    const once = { ...settings(), oneShot: true }
    const replicas = [1, 2].map(() => startApi(database(), undefined, 5_000, {}, { tokenIssuers: [once] }))
    const [first, second] = replicas
    api = first ?? api
    const token = await issuer.sign({ jti: 'once-1' })
    const answers = await Promise.all(
      [1, 2, 3, 4].map((number) => replicas[number % 2]?.run(`r${number}`, { token, threadId: `t${number}` })),
    )
    const codes = answers.map((each) => each?.body.error?.code ?? 'answered').toSorted()
    expect(codes).toEqual(['answered', 'token_replayed', 'token_replayed', 'token_replayed'])
    // Another issuer's or another id is another token; a request that fails earlier has not used it.
    const next = await issuer.sign({ jti: 'once-2' })
    expect((await api.run('r5', { token: next, headers: { 'x-agents-api-chain-depth': 'abc' } })).status).toBe(400)
    expect((await api.run('r6', { token: next, threadId: 't6' })).status).toBe(200)
    const nameless = await issuer.sign()
    expect((await api.run('r7', { token: nameless })).body.error.code).toBe('invalid_token')
    await second?.stop()
  })

  test('says to come again while the keys cannot be read', async () => {
    await api.stop()
    const nowhere = { ...settings(), jwksUrl: 'http://127.0.0.1:1/keys' }
    api = startApi(database(), undefined, 5_000, {}, { tokenIssuers: [nowhere] })
    const answer = await api.run('r1', { token: await issuer.sign() })
    expect(answer).toMatchObject({ status: 503, body: { error: { code: 'issuer_unavailable' } } })
    expect(answer.headers.get('retry-after')).toBe('30')
    expect(answer.headers.get('www-authenticate')).toBeNull()
    expect(api.gateway.logged).toContainEqual(expect.objectContaining({ event: 'token_issuer_failed' }))
  })
})
