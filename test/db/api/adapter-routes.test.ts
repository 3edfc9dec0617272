// Pages that a channel serves itself lie below its webhook, and nowhere else.
import { expect, test } from 'vitest'
import type { ChannelDefinition } from '../../../src/contract/index.ts'
import { createRejectionLog } from '../../../src/identity/rejected-requests.ts'
import { loopbackArrival } from '../../doubles/loopback/fixtures.ts'
import { loopbackClientId, loopbackLookup } from '../../doubles/loopback/index.ts'
import { createTestApp } from '../../doubles/test-app.ts'
import { createTestGateway, loopbackConnections } from '../../doubles/test-gateway.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

/** An inbox of the channel's own, and a document of the whole host. */
const receiving: ChannelDefinition = {
  ...loopbackClientId,
  create: (settings, deps) => ({
    ...loopbackClientId.create(settings, deps),
    endpoints: [
      { path: '/.well-known/nodeinfo', answer: 'serve' },
      { path: '/own/:agent/inbox', answer: 'serve' },
    ],
    async serve(request, door) {
      if (request.method !== 'POST') return Response.json({ links: [] })
      const bytes = new Uint8Array(await request.arrayBuffer())
      const { receivedAt, from } = door
      const answer = await door.receive({ bytes, headers: Object.fromEntries(request.headers), receivedAt, from })
      return Response.json(answer, { status: answer.kind === 'stored' ? 202 : 401 })
    },
  }),
}

/** Answers `…/page` and nothing else. */
const serving: ChannelDefinition = {
  ...loopbackClientId,
  create: (settings, deps) => ({
    ...loopbackClientId.create(settings, deps),
    serve: async (request) =>
      new URL(request.url).pathname.endsWith('/page') ? new Response(`page of ${deps.connection.id}`) : undefined,
  }),
}

describeOnDatabase('pages of a channel', (database) => {
  test('are served for its own connections, and an unknown address is not found', async () => {
    const connections = loopbackConnections('http://127.0.0.1:9').slice(0, 2)
    const gateway = createTestGateway(database(), { connections }, {}, [serving, loopbackLookup])
    const app = createTestApp(gateway, database())
    const get = async (path: string) => {
      const response = await app.request(path)
      return [response.status, response.status === 200 ? await response.text() : '']
    }
    expect(await get('/hooks/loopback-client-id/loopback-client-id/page')).toEqual([200, 'page of loopback-client-id'])
    for (const path of [
      '/hooks/loopback-client-id/loopback-client-id/other',
      '/hooks/loopback-client-id/loopback-client-id',
      '/hooks/loopback-client-id/another/page',
      '/hooks/loopback-lookup/loopback-lookup/page',
      '/page',
    ])
      expect(await get(path)).toEqual([404, ''])
    gateway.stop()
  })

  test('take in what is posted to them as a webhook does: verified, once, and told when it is stored', async () => {
    const connections = loopbackConnections('http://127.0.0.1:9').slice(0, 1)
    const gateway = createTestGateway(database(), { connections }, {}, [receiving])
    const rejections = createRejectionLog()
    const app = createTestApp(gateway, database(), { rejections })
    const { bytes, headers } = await loopbackArrival({ id: 'm1', from: 'ada', text: 'hello' })
    const post = async (body: Uint8Array) => {
      const response = await app.request('/own/demo/inbox', { method: 'POST', headers, body: new Blob([body.slice()]) })
      return [response.status, (await response.json()) as object]
    }
    expect(await post(bytes)).toMatchObject([202, { kind: 'stored', acceptances: [{ kind: 'accepted' }] }])
    expect(await post(bytes)).toMatchObject([202, { kind: 'stored', acceptances: [{ kind: 'duplicate' }] }])
    const [status, refused] = await post(new TextEncoder().encode('{"id":"m2"}'))
    expect([status, refused]).toMatchObject([401, { kind: 'rejected', reason: 'bad_signature' }])
    const [kept] = rejections.list({ limit: 5 })
    expect(kept).toMatchObject({ reason: 'bad_signature', bytes: 11 })
    expect(refused).toMatchObject({ trace: kept?.trace })
    expect((await app.request('/.well-known/nodeinfo')).status).toBe(200)
    gateway.stop()
  })
})
