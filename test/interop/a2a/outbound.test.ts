// Our client beside the SDK's own server (OU-02): both versions, both bindings, with streams and without.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { A2aAgentOptions } from '../../../adapters/a2a/client/options.ts'
import { a2aAgent } from '../../../adapters/a2a/client/remote-agent.ts'
import { type Agent, defineAgent } from '../../../src/agents/define-agent.ts'
import type { Database } from '../../../src/db/client.ts'
import { memoryBlobs } from '../../doubles/memory-blobs.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { describeBeside } from '../peer.ts'
import { findSdk, type SdkPeer } from './sdk-peer.ts'

const sdk = await findSdk()
/** Kept as long as the rows that name them. */
const files = memoryBlobs()

type Scene = {
  readonly peer: () => SdkPeer
  readonly say: (text: string, id?: string) => Promise<string>
  readonly gateway: () => TestGateway
  readonly vendor: () => VendorStub
}

/** A person, a gateway whose only agent is elsewhere, and the peer it is at. */
function scene(
  start: () => (...args: readonly string[]) => Promise<SdkPeer>,
  database: () => Database,
  { interfaces, options = {} }: { readonly interfaces: readonly string[]; readonly options?: A2aAgentOptions },
): Scene {
  let peer: SdkPeer
  let vendor: VendorStub
  let gateway: TestGateway
  beforeAll(async () => {
    peer = await start()(...interfaces)
  })
  afterAll(() => peer.stop())
  let conversation = ''
  beforeEach(async () => {
    conversation = crypto.randomUUID()
    vendor = await startVendorStub()
    const agents: readonly Agent[] = [defineAgent({ slug: 'far', model: a2aAgent(peer.url, options) })]
    gateway = createTestGateway(database(), { agents, connections: loopbackConnections(vendor.origin) }, { files })
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
  })
  return {
    peer: () => peer,
    gateway: () => gateway,
    vendor: () => vendor,
    async say(text, id = crypto.randomUUID()) {
      const before = vendor.messages.length
      await gateway.deliver({ id, from: 'ada', conversation, text })
      await settleUntil(gateway, () => vendor.messages.length > before)
      return vendor.messages.at(-1)?.text ?? ''
    },
  }
}

describeBeside('our client', sdk, (start) => {
  describeOnDatabase(
    'beside the SDK',
    (database) => {
      describe.each([
        ['1.0 over JSON-RPC', ['rpc/1.0'], {}],
        ['1.0 over HTTP+JSON', ['rest/1.0'], {}],
        ['1.0 over JSON-RPC without streams', ['rpc/1.0', 'plain'], {}],
        ['1.0 over HTTP+JSON without streams', ['rest/1.0', 'plain'], {}],
        ['1.0 over JSON-RPC for a tenant', ['rpc/1.0', 'tenant'], {}],
        ['1.0 over HTTP+JSON for a tenant', ['rest/1.0', 'tenant'], {}],
        ['0.3 over JSON-RPC', ['rpc/0.3'], { allow03: true }],
        ['0.3 over HTTP+JSON', ['rest/0.3'], { allow03: true }],
        ['0.3 over JSON-RPC without streams', ['rpc/0.3', 'plain'], { allow03: true }],
        ['0.3 over HTTP+JSON without streams', ['rest/0.3', 'plain'], { allow03: true }],
      ] as const)('%s', (_name, interfaces, options) => {
        const { say, peer, vendor, gateway } = scene(start, database, { interfaces, options })

        test('is sent what was said, and answers with what its artifacts say', async () => {
          expect(await say('echo hello')).toBe('You said: hello')
        })

        test('answers without a task', async () => {
          expect(await say('message hello')).toBe('Directly: hello')
        })

        test('is followed while it works', async () => {
          expect(await say('slow 400')).toBe('one two')
        })

        test('asks, and is answered in the task that asked', async () => {
          expect(await say('ask me')).toContain('Which colour?')
          const first = (await peer().told()).asked.at(-1)
          expect(await say('blue')).toContain('to the question, blue')
          const second = (await peer().told()).asked.at(-1)
          expect(second).toMatchObject({ isFollowUp: true, taskId: first?.taskId, contextId: first?.contextId })
        })

        test('keeps a conversation in one context, and two people in two', async () => {
          await say('echo one')
          await say('echo two')
          await gateway().deliver({
            id: crypto.randomUUID(),
            from: 'bob',
            conversation: crypto.randomUUID(),
            text: 'echo three',
          })
          await settleUntil(gateway(), () => vendor().messages.length > 2)
          const [one, two, three] = (await peer().told()).asked.slice(-3)
          expect(two?.contextId).toBe(one?.contextId)
          expect(two?.taskId).not.toBe(one?.taskId)
          expect(three?.contextId).not.toBe(one?.contextId)
        })

        test('that fails or declines is told in our own words', async () => {
          expect(await say('fail now')).toContain('could not do it')
          expect(await say('reject now')).toContain('declined')
          expect(
            vendor()
              .messages.map(({ text }) => text)
              .join(),
          ).not.toContain('canary')
        })

        test('that wants a sign-in says so, and goes on in the same task', async () => {
          const words = await say('auth please')
          expect(words).toContain('Please sign in.')
          expect(words).toContain('Write here when you have done so.')
          expect(await say('done')).toContain('to the question, done')
        })

        test('sends words, files, links and data', async () => {
          await say('mixed')
          const words = vendor()
            .messages.map(({ text, file }) => `${text} ${file?.name}`)
            .join('\n')
          expect(words).toContain('**bold**')
          // Files have no name in the HTTP+JSON of 0.3.
          expect(words).toContain(interfaces[0] === 'rest/0.3' ? 'file' : 'hello.txt')
          expect(words).toContain('https://files.example.org/a.pdf')
          expect(words).toContain('sum.json')
          expect(words).toContain('There you are.')
        })

        test('is told to stop when somebody stops the run', async () => {
          await gateway().deliver({ id: crypto.randomUUID(), from: 'ada', conversation: 'stopped', text: 'slow 20000' })
          const working = settleUntil(gateway(), () => vendor().messages.length > 0, 20_000)
          await expect.poll(async () => (await peer().told()).asked.at(-1)?.text, { timeout: 5_000 }).toBe('slow 20000')
          const task = (await peer().told()).asked.at(-1)?.taskId
          await gateway().deliver({
            id: crypto.randomUUID(),
            from: 'ada',
            conversation: 'stopped',
            text: '/stop',
            command: { name: 'stop', args: '' },
          })
          await working
          expect((await peer().told()).cancelled).toContain(task)
        })

        test('is told where it stands in the chain of agents', async () => {
          await say('echo chain')
          const { heard, asked } = await peer().told()
          const headers = heard.at(-1)?.headers ?? {}
          expect(headers).toMatchObject({
            'a2a-version': interfaces[0].split('/')[1],
            'x-agents-api-caller-agent': 'far',
            'x-agents-api-chain-depth': '1',
          })
          expect(headers['x-agents-api-chain-root']).toMatch(/^[\w-]+$/)
          expect(asked.at(-1)?.metadata).toMatchObject({
            mentionable: { agent_chain: { hop: 1, max_hops: 4, is_final: false } },
          })
        })
      })
    },
    'all',
  )
})
