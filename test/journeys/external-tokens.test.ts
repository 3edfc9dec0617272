// Callers with tokens of other issuers: who they are to an agent, what is theirs, what they may, and how they find an issuer.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/define-agent.ts'
import type { ParleyConfig } from '../../src/config.ts'
import type { Fields } from '../../src/lib/json-value.ts'
import { type Api, startApi } from '../doubles/api.ts'
import { audience, client, startTokenIssuer, type TokenIssuerDouble } from '../doubles/token-issuer.ts'
import { madeToken } from '../doubles/tokens.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

describeOnDatabase('a caller with a token of another issuer', (database) => {
  let issuer: TokenIssuerDouble
  let api: Api
  let who: Fields[]
  let place: string
  type Entry = Partial<NonNullable<ParleyConfig['tokenIssuers']>[number]>
  const start = async (changes: Entry = {}, more: Omit<Parameters<typeof startApi>[4], 'tokenIssuers'> = {}) => {
    await api?.stop()
    const tokenIssuers = [{ issuer: issuer.origin, audience, ...changes }]
    const agent = defineAgent({
      slug: 'demo',
      run(message, context) {
        who.push({ message, who: context.who })
        return `${context.principal}, ${message.history?.length ?? 0} before`
      },
    })
    api = startApi(database(), [agent], 5_000, {}, { tokenIssuers, ...more })
  }
  const said = async (runId: string, claims: object, threadId = 't1') => {
    const { status, body } = await api.run(runId, { token: await issuer.sign({ ...claims }), threadId })
    return status === 200 ? body.messages[0].content : body.error.code
  }
  beforeEach(async () => {
    who = []
    issuer = await startTokenIssuer()
    place = `iss:${new URL(issuer.origin).host}/`
    await start()
  })
  afterEach(async () => {
    await api.stop()
    expect(issuer.unexpected).toEqual([])
    await issuer.close()
  })

  test('AU-07 AU-08 is verified by one piece of evidence, with what the token proves and nothing the request claims', async () => {
    const at = Math.floor(Date.now() / 1000)
    const token = await issuer.sign({
      jti: 'id-1',
      client_id: 'app',
      scope: 'run mail',
      agent: 'other',
      iat: at,
      exp: at + 60,
    })
    const body = JSON.stringify({
      threadId: 't1',
      runId: 'r1',
      messages: [{ id: 'm1', role: 'user', content: 'hi', name: 'root' }],
      metadata: { mentionable: { identity_evidence: [{ subject: 'gw:user/root' }] } },
      forwardedProps: { sender: { verified: true } },
    })
    expect((await api.run('r1', { token, body })).status).toBe(200)
    const { sender } = (who[0]?.['message'] ?? {}) as { sender: object }
    expect(sender).toEqual({
      address: expect.stringMatching(/^@caller-[0-9a-f]{16}@agui\./),
      auth_method: 'bearer-jwt',
      key_id: 'id-1',
      verified: true,
      identities: [
        {
          subject: `${place}ada#app`,
          issuer: issuer.origin,
          method: 'urn:gw:auth:bearer-jwt:v0.1',
          assurance: 'agent',
          audience: '@demo@parley.localhost',
          issued_at: new Date(at * 1000).toISOString(),
          expires_at: new Date((at + 60) * 1000).toISOString(),
          claims: { client_id: 'app', scope: 'run mail' },
          proof: { type: 'bearer-token', verified_by: 'parley', token_id: 'id-1' },
        },
      ],
    })
    expect(who[0]?.['who']).toMatchObject({
      auth_source: 'audience',
      owner_key: `${place}ada#app`,
      client_id: 'app',
      token_id: null,
    })
  })

  test('an authorization server proves less than an agent’s own key', async () => {
    await start({ proves: 'oauth' })
    await said('r1', {})
    expect(JSON.stringify(who[0])).toContain('"method":"urn:gw:auth:bearer-oauth:v0.1","assurance":"oauth"')
  })

  test('AU-09 owns what it began together with whoever acts for it, and a new token changes nothing', async () => {
    expect(await said('r1', { jti: 'a' })).toBe(`${place}ada, 0 before`)
    expect(await said('r2', { jti: 'b' })).toBe(`${place}ada, 2 before`)
    expect(await said('r3', { act: { sub: 'bot' } })).toBe(`${place}ada#bot, 0 before`)
    expect(await said('r4', { act: { sub: 'bot', act: { sub: 'desk' } } })).toBe(`${place}ada#bot, 2 before`)
    expect(await said('r5', { sub: 'bob', act: { sub: 'bot' } })).toBe(`${place}bob#bot, 0 before`)
    // Nobody writes himself into somebody else's name.
    expect(await said('r6', { sub: 'ada#bot' })).toBe(`${place}ada%23bot, 0 before`)
    const { sender } = (who[3]?.['message'] ?? {}) as { sender: { identities: object[] } }
    expect(sender.identities[0]).toMatchObject({ on_behalf_of: [`${place}ada`], claims: { act: ['bot', 'desk'] } })
  })

  test('is shut out with the one it acts for', async () => {
    await api.operate('POST', '/admin/grants', { subject: `${place}ada`, effect: 'deny' })
    expect(await said('r1', {})).toBe('blocked')
    const access = { mode: 'public', allow: [], rules: [{ effect: 'deny', subject: `${place}bob` }] } as const
    await start({}, { connections: [{ channel: 'agui', id: 'demo', access, settings: {} }] })
    expect(await said('r2', { sub: 'bob', act: { sub: 'bot' } })).toBe('denied_by_rule')
    expect(await said('r3', { sub: 'eve', act: { sub: 'bot' } })).toContain('eve#bot')
  })

  test('AU-05 may what its issuer’s scopes are mapped to', async () => {
    await start({ scopes: { run: ['agents.use', 'agents.all'] } })
    expect(await said('r1', { scope: 'run' })).toBe('insufficient_scope')
    expect(await said('r2', { scope: 'mail agents.all' })).toContain('ada')
    await start({ scopes: { run: 'any' } })
    expect(await said('r3', { scope: undefined })).toContain('ada')
  })

  test('reaches files and history as itself, and as nobody else', async () => {
    await said('r1', {})
    const history = async (claims: object) => {
      const token = await issuer.sign({ ...claims })
      return api.request('/api/v1/agent/history?threadId=t1', {}, { token })
    }
    expect(JSON.stringify(await (await history({})).json())).toContain('hello')
    expect(JSON.stringify(await (await history({ sub: 'bob' })).json())).not.toContain('hello')
    const refused = await history({ scope: 'mail' })
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
      403,
      'Bearer realm="parley.localhost", error="insufficient_scope", scope="run"',
    ])
  })

  test('AU-10 is asked about where its token is opaque', async () => {
    await start({ ...client, introspectionUrl: `${issuer.origin}/introspect` })
    issuer.tokens.set('opaque-1', { sub: 'ada', client_id: 'app', scope: 'run', aud: [audience], iss: issuer.origin })
    issuer.tokens.set('opaque-2', { sub: 'ada', scope: 'run', aud: 'https://other.example' })
    issuer.tokens.set('opaque-3', { sub: 'ada', scope: 'mail', aud: audience })
    const ask = async (token: string) => {
      const { status, body } = await api.run(`r-${token}`, { token, threadId: token })
      return [status, body.error?.code]
    }
    expect(await ask('opaque-1')).toEqual([200, undefined])
    expect(await ask('opaque-2')).toEqual([401, 'token_audience'])
    expect(await ask('opaque-3')).toEqual([403, 'insufficient_scope'])
    expect(await ask('opaque-4')).toEqual([401, 'token_inactive'])
    issuer.failAlways('introspect', { kind: 'drop', when: 'before' })
    expect(await ask('opaque-5')).toEqual([503, 'issuer_unavailable'])
    expect(JSON.stringify(who[0])).toContain('"method":"urn:gw:auth:bearer-oauth:v0.1","assurance":"oauth"')
    expect(JSON.stringify(api.gateway.logged)).not.toMatch(/opaque-|a secret/)
    const own = (await madeToken(database(), { scopes: ['run'] })).clear
    expect((await api.run('own', { token: own, threadId: 'own' })).status).toBe(200)
    expect(issuer.calls.some(({ body }) => String(body).includes('parley_'))).toBe(false)
  })

  test('finds out who issues tokens, and may have them made out to the URL it calls', async () => {
    await start({ audience: undefined, scopes: { run: ['agents.use'] } } as Entry, {
      env: { PARLEY_PUBLIC_URL: 'https://gateway.example/' },
    })
    const bare = await api.run('r1')
    const metadata = 'https://gateway.example/.well-known/oauth-protected-resource/api/v1/agent/run'
    expect(bare.headers.get('www-authenticate')).toBe(`Bearer realm="gateway.example", resource_metadata="${metadata}"`)
    const found = await api.request(new URL(metadata).pathname)
    const document = (await found.json()) as { resource: string }
    expect(document).toEqual({
      resource: 'https://gateway.example/api/v1/agent/run',
      authorization_servers: [issuer.origin],
      scopes_supported: ['agents.use'],
      bearer_methods_supported: ['header'],
    })
    expect(await said('r2', { aud: document.resource, scope: 'agents.use' })).toContain('ada')
    expect(await said('r3', { aud: 'https://gateway.example' })).toBe('token_audience')
    const root = (await (await api.request('/.well-known/oauth-protected-resource')).json()) as object
    expect(root).toMatchObject({ resource: 'https://gateway.example' })
    expect((await api.request('/.well-known/oauth-protected-resource/%0d%0aevil')).status).toBe(400)
  })

  test('finds nothing of the kind where nobody else issues tokens', async () => {
    await api.stop()
    api = startApi(database())
    expect((await api.request('/.well-known/oauth-protected-resource')).status).toBe(404)
    expect((await api.run('r1', { token: await issuer.sign() })).body.error.code).toBe('invalid_token')
  })
})
