// Our client asks our own server, over real HTTP between two gateways with a database each: both versions, both bindings; answers,
// streams, streams that are cut, questions, and stops.

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { a2aAgent } from '../../adapters/a2a/client/remote-agent.ts'
import { a2a } from '../../adapters/a2a/index.ts'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { nameStatement } from '../../src/db/client.ts'
import { cancelRun } from '../../src/db/runs.ts'
import { type A2aPeer, type Body, startA2a } from '../doubles/a2a-peer.ts'
import { type AtWork, putToWork, until } from '../doubles/background-gateway.ts'
import { createTestGateway, loopbackConnections, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

type Asked = { readonly path: string; readonly version: string | undefined; readonly lastEventId: string | undefined }

/** The other gateway as a server of its own; of its card only one interface is shown. */
type Elsewhere = { readonly url: string; readonly asked: Asked[]; readonly cut: () => void }

const deltas = nameStatement(
  'test_both_ends_deltas',
  "select event from run_events where event ->> 'type' = 'text_delta' order by run_id, seq",
)
const tasks = nameStatement(
  'test_both_ends_tasks',
  'select id, context_id as "contextId", state from tasks order by created_at',
)
const runs = nameStatement('test_both_ends_runs', "select id from runs where status = 'running'")

describeOnDatabase(
  'our client and our server',
  (here) => {
    describeOnDatabase(
      'on a database each',
      (there) => {
        describe.each([
          ['1.0', 'JSONRPC', '/a2a'],
          ['1.0', 'HTTP+JSON', '/a2a'],
          ['0.3', 'JSONRPC', '/a2a'],
          ['0.3', 'HTTP+JSON', '/a2a'],
          ['1.0', 'JSONRPC', '/plain'],
          ['0.3', 'HTTP+JSON', '/plain'],
        ])('in version %s over %s at %s', (version, binding, path) => {
          const hasStreams = path === '/a2a'
          let peer: A2aPeer
          let server: Server
          let elsewhere: Elsewhere
          let vendor: VendorStub
          let gateway: TestGateway
          let work: AtWork
          let conversation = ''

          beforeEach(async () => {
            const connections = [a2a(), a2a({ id: 'plain', path: '/plain', streaming: false })]
            peer = startA2a(there(), { connections })
            const asked: Asked[] = []
            const listener = getRequestListener(async (request) => {
              const { pathname } = new URL(request.url)
              if (pathname.endsWith('agent-card.json')) return onlyOne(await peer.app.request(request))
              const [version, lastEventId] = ['a2a-version', 'last-event-id'].map(
                (name) => request.headers.get(name) ?? undefined,
              )
              asked.push({ path: pathname, version, lastEventId })
              return peer.app.request(request)
            })
            server = createServer((incoming, outgoing) => void listener(incoming, outgoing))
            await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
            const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}/demo`
            elsewhere = { url, asked, cut: () => server.closeAllConnections() }
            vendor = await startVendorStub()
            const far = defineAgent({ slug: 'far', model: a2aAgent(url, { allow03: version === '0.3' }) })
            const people = loopbackConnections(vendor.origin)
            gateway = createTestGateway(here(), { agents: [far], connections: people })
            work = putToWork(gateway)
            conversation = crypto.randomUUID()
          })
          afterEach(async () => {
            await work.stop()
            gateway.stop()
            await peer.stop()
            server.closeAllConnections()
            await new Promise((resolve) => server.close(resolve))
            await vendor.close()
          })

          const onlyOne = async (response: Response): Promise<Response> => {
            const card: Body = await response.json()
            const isMeant = (each: Body) => each.protocolVersion === version && each.protocolBinding === binding
            return Response.json({ ...card, supportedInterfaces: card.supportedInterfaces.filter(isMeant) })
          }
          const tell = (text: string) => gateway.deliver({ id: crypto.randomUUID(), from: 'ada', conversation, text })
          const say = async (text: string): Promise<string> => {
            const before = vendor.messages.length
            await tell(text)
            await until(() => vendor.messages.length > before)
            return vendor.messages.at(-1)?.text ?? ''
          }
          const shown = async (): Promise<string> => {
            const rows = await here().query<{ event: Body }>(deltas, [])
            return rows.map(({ event }) => event.metadata.delta).join('')
          }
          const lastTask = async () => (await there().query<Body>(tasks, [])).at(-1)

          test('asks and is answered, in the version that the card offers', async () => {
            expect(await say('hello')).toContain('demo heard: hello (0 before)')
            expect(new Set(elsewhere.asked.map((each) => each.version))).toEqual(new Set([version]))
            expect(peer.obedient.heard).toHaveLength(1)
          })

          test('goes on in one conversation there', async () => {
            await say('hello')
            expect(await say('again')).toContain('demo heard: again (2 before)')
          })

          test('answers the question of a task in that task', async () => {
            expect(await say('ask')).toContain('Which colour?')
            const first = await lastTask()
            expect(first.state).toBe('input_required')
            expect(await say('blue')).toContain('demo heard: blue')
            expect(await lastTask()).toMatchObject({ id: first.id, state: 'completed' })
          })

          test('stops what it asked for', async () => {
            await tell('wait')
            await until(() => peer.obedient.running() === 1)
            const [run] = await here().query<{ id: string }>(runs, [])
            expect(await cancelRun(gateway.gateway.db, run?.id ?? '', 'ada')).toMatchObject({ kind: 'stopping' })
            await until(() => peer.obedient.running() === 0)
            await until(async () => (await lastTask()).state === 'cancelled')
            await until(() => vendor.messages.length > 0)
            expect(vendor.messages.at(-1)?.text).toContain('Stopped')
          })

          if (!hasStreams) return
          test('shows words as they grow, also over a stream that is cut, and each of them once', async () => {
            const before = await shown()
            const answer = say('say one two three four five six')
            await until(async () => (await shown()).length > before.length)
            elsewhere.cut()
            expect(await answer).toBe('one two three four five six')
            expect((await shown()).slice(before.length).trim()).toBe('one two three four five six')
            expect(peer.obedient.heard).toHaveLength(1)
          })
        })
      },
      'all',
    )
  },
  'all',
)
