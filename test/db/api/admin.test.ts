// The operator's routes: who may ask, what they refuse, page by page, and tokens that can be made and taken back.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import type { createApp } from '../../../src/api/app.ts'
import { textOf } from '../../../src/contract/index.ts'
import { nameStatement } from '../../../src/db/client.ts'
import { secret } from '../../../src/lib/secret.ts'
import { createTestApp } from '../../doubles/test-app.ts'
import {
  createTestGateway,
  loopbackChannels,
  loopbackConnections,
  settleUntil,
  type TestGateway,
} from '../../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const firstToken = 'first-token-of-the-test-000000'
const forget = nameStatement('test_forget', 'update inbox set message = null, raw = null')
const inboxIds = nameStatement('test_ids', 'select id, state from inbox order by seq')

type Answer = {
  readonly status: number
  readonly body: Record<string, unknown> & { error?: { code: string; remedy: string } }
}

describeOnDatabase('the operator routes', (database) => {
  let vendor: VendorStub
  let gateway: TestGateway
  let isHere: boolean
  let app: ReturnType<typeof createApp>

  beforeEach(async () => {
    vendor = await startVendorStub()
    isHere = true
    gateway = createTestGateway(database(), {
      agents: [
        defineAgent({
          slug: 'demo',
          provenance: { sourceType: 'bundled-agent', sourceVersion: '1.2.3' },
          access: { mode: 'public', allow: [] },
          run: (message) => (textOf(message.parts) === 'die' ? Promise.reject(new Error('asked to')) : 'yes'),
        }),
      ],
      connections: loopbackConnections(vendor.origin),
      turns: { maxFailures: 1 },
    })
    app = createTestApp(gateway, database(), {
      agents: [...gateway.deps.agents.values()],
      adminToken: secret(firstToken),
      sourceOf: () => (isHere ? 'local' : 'remote'),
    })
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
  })

  const ask = async (method: string, path: string, body?: unknown, token = firstToken): Promise<Answer> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const response = await app.request(path, { method, headers, ...(body === undefined ? {} : { body: text }) })
    return { status: response.status, body: await response.json() }
  }
  const ended = async (texts: readonly string[], connection?: string) => {
    for (const [index, text] of texts.entries())
      await gateway.deliver({ id: `m${index}`, from: 'ada', text, conversation: `c${index}` }, connection)
    const isOver = async () =>
      (await database().query<{ state: string }>(inboxIds, [])).every(
        (row) => !['queued', 'in_turn'].includes(row.state),
      )
    await settleUntil(gateway, isOver, 60_000)
  }

  test.each(['', 'wrong', `${firstToken}x`, 'parley_00000000_0000000000000000000000000000000000000000000'])(
    'refuse the token %j',
    async (token) => {
      expect(await ask('GET', '/admin/stats', undefined, token)).toMatchObject({
        status: 401,
        body: { error: { code: 'unauthorized' } },
      })
    },
  )

  test('list the agents with where they come from and where they answer', async () => {
    expect((await ask('GET', '/admin/agents')).body).toEqual({
      agents: [
        {
          slug: 'demo',
          label: 'demo',
          description: '',
          busy: 'queue',
          access: 'public',
          source_type: 'bundled-agent',
          source_package: null,
          source_version: '1.2.3',
          source_ref: null,
          agent_calls: null,
          address: '@demo@parley.localhost',
          connections: loopbackChannels.map(({ channel }) => ({ connection: `${channel}/${channel}`, by: 'own' })),
        },
      ],
    })
  })

  test('answer on this machine only, whatever the token', async () => {
    isHere = false
    expect((await ask('GET', '/admin/stats')).status).toBe(404)
  })

  test('take a token that was made, until it is revoked', async () => {
    const { body: made } = await ask('POST', '/admin/tokens', { label: '  two\n words ' })
    expect(made).toMatchObject({ label: 'two words', scopes: ['admin'], state: 'active', expiresAt: null })
    const token = String(made['token'])
    expect((await ask('GET', '/admin/stats', undefined, token)).status).toBe(200)
    const { body: listed } = await ask('GET', '/admin/tokens', undefined, token)
    expect(JSON.stringify(listed)).not.toContain(token)
    expect(listed).toMatchObject({ tokens: [{ prefix: made['prefix'], lastUsedAt: expect.anything() }] })
    expect(await ask('POST', `/admin/tokens/${made['prefix']}/revoke`)).toMatchObject({ status: 200 })
    expect((await ask('GET', '/admin/stats', undefined, token)).status).toBe(401)
    expect((await ask('POST', `/admin/tokens/${made['id']}/revoke`)).status).toBe(404)
    expect(JSON.stringify(gateway.logged)).not.toContain(token)
  })

  test.each([
    ['no label', {}],
    ['a blank label', { label: ' \n ' }],
    ['a life of nothing', { label: 'x', expiresInMs: 0 }],
    ['an unknown scope', { label: 'x', scopes: ['root'] }],
    ['an unknown field', { label: 'x', hash: 'mine' }],
    ['no JSON', '{"label":'],
  ])('make no token from %s', async (_name, body) => {
    expect(await ask('POST', '/admin/tokens', body)).toMatchObject({
      status: 400,
      body: { error: { code: 'bad_request' } },
    })
    expect((await ask('GET', '/admin/tokens')).body).toEqual({ tokens: [] })
  })

  test('refuse to be given a whole token where its prefix is meant', async () => {
    const { body: made } = await ask('POST', '/admin/tokens', { label: 'x' })
    expect((await ask('POST', `/admin/tokens/${made['token']}/revoke`)).status).toBe(400)
  })

  test.each(['limit=0', 'limit=501', 'limit=ten', 'before=-1', 'before=x'])('refuse a page with %s', async (query) => {
    expect((await ask('GET', `/admin/dead-letters?${query}`)).status).toBe(400)
    expect((await ask('GET', `/admin/deliveries?${query}`)).status).toBe(400)
  })

  test('refuse a state that is none', async () => {
    const { status, body } = await ask('GET', '/admin/deliveries?state=unknown,lost')
    expect(status).toBe(400)
    expect(body.error?.remedy).toContain('unknown, refused, dead')
  })

  test('list the dead page by page, newest first, none twice and none left out', async () => {
    await ended(Array.from({ length: 7 }, () => 'die'))
    const { body: whole } = await ask('GET', '/admin/dead-letters')
    const all = whole['deadLetters'] as readonly { id: string; messageId: string }[]
    expect(all.map((line) => line.messageId)).toEqual(['m6', 'm5', 'm4', 'm3', 'm2', 'm1', 'm0'])
    expect(whole['next']).toBeNull()
    const seen: unknown[] = []
    let next: unknown = null
    do {
      const { body } = await ask('GET', `/admin/dead-letters?limit=3${next === null ? '' : `&before=${next}`}`)
      seen.push(...(body['deadLetters'] as readonly unknown[]))
      next = body['next']
    } while (next !== null)
    expect(seen).toEqual(all)
    expect((await ask('GET', '/admin/dead-letters?connection=other/one')).body).toEqual({ deadLetters: [], next: null })
  }, 90_000)

  test('replay a message, and say so when its content is gone', async () => {
    await ended(['hello'])
    const [row] = await database().query<{ id: string }>(inboxIds, [])
    expect(await ask('POST', `/admin/replay/${row?.id}`)).toMatchObject({
      status: 200,
      body: { replay: { isSame: true } },
    })
    const cleaned = await ask('POST', `/admin/replay/${row?.id}?fixture=cleaned`)
    expect(cleaned.body).toMatchObject({ replay: { fixture: { v: 1 } } })
    await database().query(forget, [])
    expect(await ask('POST', `/admin/replay/${row?.id}`)).toMatchObject({
      status: 410,
      body: { error: { code: 'content_erased', remedy: expect.stringContaining('erased') } },
    })
    expect((await ask('POST', '/admin/replay/nothing')).status).toBe(400)
  }, 90_000)
})
