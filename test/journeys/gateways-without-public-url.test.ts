// Two gateways that nobody gave a public address are two: an agent asks its namesake at the other, and a circle between them is
// still found.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { a2aAgent } from '../../adapters/a2a/client/remote-agent.ts'
import { a2a, a2aChannel } from '../../adapters/a2a/index.ts'
import { type Agent, defineAgent } from '../../src/agents/define-agent.ts'
import { type AtWork, putToWork, until } from '../doubles/background-gateway.ts'
import { createTestApp } from '../doubles/test-app.ts'
import { createTestGateway, loopbackChannels, loopbackConnections, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

type Standing = { readonly gateway: TestGateway; readonly work: AtWork }

describeOnDatabase(
  'two gateways without a public address',
  (one) => {
    describeOnDatabase(
      'on a database each',
      (other) => {
        const databases = [one, other] as const
        let vendor: VendorStub
        let servers: readonly Server[]
        let standing: Standing[]

        beforeEach(async () => {
          vendor = await startVendorStub()
          servers = [createServer(), createServer()]
          for (const server of servers) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
          standing = []
        })
        afterEach(async () => {
          for (const { gateway, work } of standing) {
            await work.stop()
            gateway.stop()
          }
          for (const server of servers) {
            server.closeAllConnections()
            await new Promise((resolve) => server.close(resolve))
          }
          await vendor.close()
        })

        const portOf = (server: Server | undefined): number => (server?.address() as AddressInfo | undefined)?.port ?? 0
        const urlOf = (at: number): string => `http://127.0.0.1:${portOf(servers[at])}/a2a/demo`
        const far = (at: number): Agent => defineAgent({ slug: 'demo', model: a2aAgent(urlOf(at)) })

        function start(at: 0 | 1, agent: Agent): TestGateway {
          const database = databases[at]()
          const connections = [a2a(), ...loopbackConnections(vendor.origin)]
          const gateway = createTestGateway(database, { agents: [agent], connections }, {}, [
            a2aChannel,
            ...loopbackChannels,
          ])
          const app = createTestApp(gateway, database)
          const listener = getRequestListener(app.fetch)
          servers[at]?.on('request', (incoming, outgoing) => void listener(incoming, outgoing))
          standing.push({ gateway, work: putToWork(gateway) })
          return gateway
        }

        async function say(gateway: TestGateway): Promise<string> {
          await gateway.deliver({
            id: crypto.randomUUID(),
            from: 'ada',
            conversation: crypto.randomUUID(),
            text: 'hello',
          })
          await until(() => vendor.messages.length > 0)
          return vendor.messages.at(-1)?.text ?? ''
        }

        test('an agent asks its namesake at another gateway', async () => {
          const here = start(0, far(1))
          const there = start(1, defineAgent({ slug: 'demo', run: () => 'I am the other one.' }))
          expect(await say(here)).toBe('I am the other one.')
          expect(await here.deps.host()).not.toBe(await there.deps.host())
        })

        test('two agents that ask each other end by rule, and the person is told why', async () => {
          const here = start(0, far(1))
          start(1, far(0))
          expect(await say(here)).toMatch(/got no answer: .*(as many agents as it may|in a circle)/)
        })

        test('every replica has the same name', async () => {
          const one = start(0, far(1))
          const other = createTestGateway(databases[0](), { agents: [far(1)], connections: [a2a()] }, {}, [a2aChannel])
          expect(await other.deps.host()).toBe(await one.deps.host())
          other.stop()
        })
      },
      'all',
    )
  },
  'all',
)
