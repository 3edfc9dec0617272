// Pages that a channel serves itself lie below its webhook, and nowhere else.
import { expect, test } from 'vitest'
import type { ChannelDefinition } from '../../src/contract/index.ts'
import { loopbackClientId, loopbackLookup } from '../doubles/loopback/index.ts'
import { createTestApp } from '../doubles/test-app.ts'
import { createTestGateway, loopbackConnections } from '../doubles/test-gateway.ts'
import { describeOnEachDatabase } from '../setup/each-database.ts'

/** Answers `…/page` and nothing else. */
const serving: ChannelDefinition = {
  ...loopbackClientId,
  create: (settings, deps) => ({
    ...loopbackClientId.create(settings, deps),
    serve: async (request) =>
      new URL(request.url).pathname.endsWith('/page') ? new Response(`page of ${deps.connection.id}`) : undefined,
  }),
}

describeOnEachDatabase('pages of a channel', (database) => {
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
})
