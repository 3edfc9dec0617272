// Tokens that somebody made up, cut, stole from elsewhere or put in the wrong place: each refused, on this machine too, and
// nothing is stored.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { nameStatement } from '../../../src/db/client.ts'
import { type Api, type ApiCall, startApi } from '../../doubles/api.ts'
import { operatorToken } from '../../doubles/test-app.ts'
import { madeToken } from '../../doubles/tokens.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const inbox = nameStatement('test_inbox', 'select id from inbox')
const uses = nameStatement('test_uses', 'select last_used_at from tokens where last_used_at is not null')

describeOnDatabase('the API', (database) => {
  let api: Api
  beforeEach(() => {
    api = startApi(database(), undefined, 5_000)
  })
  afterEach(() => api.stop())

  const changed = (clear: string) => `${clear.slice(0, -1)}${clear.endsWith('A') ? 'B' : 'A'}`
  const header = (authorization: string): ApiCall => ({ headers: { authorization } })
  const attacks: [string, (good: string) => ApiCall | Promise<ApiCall>, string][] = [
    ['a forged token', (good) => ({ token: changed(good) }), 'invalid_token'],
    ['a token cut short', (good) => ({ token: good.slice(0, -1) }), 'invalid_token'],
    ['a token that goes on', (good) => ({ token: `${good}A` }), 'invalid_token'],
    ['its prefix', (good) => ({ token: good.slice(0, 15) }), 'invalid_token'],
    ['an empty token', () => header('Bearer '), 'invalid_token'],
    ['an empty header', () => header(''), 'invalid_token'],
    ['another scheme', (good) => header(`Basic ${good}`), 'invalid_token'],
    ['no scheme', (good) => header(good), 'invalid_token'],
    ['the header twice', (good) => header(`Bearer ${good}, Bearer ${good}`), 'invalid_token'],
    ['two tokens', (good) => header(`Bearer ${good} ${good}`), 'invalid_token'],
    ['a header of 10 KB', (good) => ({ token: good.padEnd(10_240, 'A') }), 'invalid_token'],
    ['the first admin token', () => ({ token: operatorToken }), 'invalid_token'],
    [
      'a token of another tenant',
      async () => ({ token: (await madeToken(database(), { scopes: ['run'] }, 'other')).clear }),
      'invalid_token',
    ],
    [
      'a token for reading',
      async () => ({ token: (await madeToken(database(), { scopes: ['read'] })).clear }),
      'insufficient_scope',
    ],
    [
      'a token that shows what is somebody’s',
      async () => ({ token: (await madeToken(database(), { scopes: ['own'], principal: 'test:ada' })).clear }),
      'insufficient_scope',
    ],
    [
      'a token for another agent',
      async () => ({ token: (await madeToken(database(), { scopes: ['run'], agent: 'other' })).clear }),
      'wrong_agent',
    ],
  ]

  test.each(attacks)('refuses %s, from elsewhere and from this machine', async (_name, attack, code) => {
    const { clear } = await madeToken(database(), { scopes: ['run'] })
    const call = await attack(clear)
    for (const isHere of [false, true]) {
      const answer = await api.run('r1', { ...call, isHere })
      expect(answer).toMatchObject({
        status: code === 'invalid_token' ? 401 : 403,
        body: { error: { code, remedy: expect.any(String) } },
      })
      expect(JSON.stringify(answer.body)).not.toContain(clear.slice(16, 40))
    }
    expect(await database().query(inbox, [])).toEqual([])
    expect(await database().query(uses, [])).toEqual([])
    expect(api.heard).toEqual([])
    expect(JSON.stringify(api.gateway.logged)).not.toContain(clear.slice(16, 40))
  })

  test('does not look for tokens in an address', async () => {
    const { clear } = await madeToken(database(), { scopes: ['run'] })
    for (const name of ['token', 'access_token', 'authorization'])
      expect(await api.run('r1', { query: `?${name}=${clear}` })).toMatchObject({
        status: 401,
        body: { error: { code: 'missing_credential' } },
      })
    expect(await database().query(inbox, [])).toEqual([])
    const local = await api.run('r2', { query: `?token=${clear}`, isHere: true })
    expect(local.body.messages[0].content).toContain('gw:user/local')
  })

  test('keeps what it cannot read of a bearer under the bearer, and never reads it again as somebody else’s', async () => {
    const { clear, line } = await madeToken(database(), { scopes: ['run'] })
    const answer = await api.run('', { token: clear, body: '{"threadId":"t1","runId":"r9","messages":[]}' })
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'messages_missing_or_empty' } } })
    const { body } = await api.operate('GET', '/admin/explain/r9')
    const { message } = body.explanation.facts
    expect(message).toMatchObject({ state: 'dead', subject: `gw:token/${line.prefix.slice(-8)}` })
    expect((await api.operate('POST', `/admin/dead-letters/${message.id}/resubmit`)).status).toBe(409)
    expect(api.heard).toEqual([])
  })
})
