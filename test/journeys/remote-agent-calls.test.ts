// An agent elsewhere as one that an agent here calls: asked by call and by tool, once, within the chain of agents (CH-02 to CH-08).
import { afterEach, beforeEach, expect, test } from 'vitest'
import { a2aAgent } from '../../adapters/a2a/client/remote-agent.ts'
import { type Agent, defineAgent } from '../../src/agents/define-agent.ts'
import type { Model } from '../../src/agents/models/model.ts'
import { textOf } from '../../src/contract/index.ts'
import { isGatewayError } from '../../src/lib/errors.ts'
import { createUnpinnedFetch } from '../../src/lib/index.ts'
import { addChainToPayload, createRemoteAgentCaller, takeChainFromPayload } from '../../src/turns/remote-agents.ts'
import {
  artifactOf,
  type RemotePeerStub,
  startRemotePeer,
  statusOf,
  taskOf,
  withResult,
  withStream,
} from '../doubles/remote-peer.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const caller = (depth: number) => ({
  caller_agent: 'first',
  caller_user: 0,
  caller_host: 'https://first.example.org',
  chain_depth: depth,
  chain_root: 'root-1',
})

const nextOf = (chain: Parameters<typeof createRemoteAgentCaller>[2]['chain'], address?: string) => {
  const attestor = { attest: async () => [], card: async () => undefined }
  const deps = {
    attestor,
    fenceFetch: () => fetch,
    guardedFetch: createUnpinnedFetch(fetch),
    host: async () => 'https://here.example.org',
  }
  return createRemoteAgentCaller(
    deps,
    { isHeld: () => true, untilHeld: async () => {} },
    { agent: 'desk', chain, root: 'turn-1' },
  ).next(address)
}

const headersOf = (depth: number, root: string) => ({
  'x-agents-api-caller-agent': 'desk',
  'x-agents-api-caller-user': '0',
  'x-agents-api-caller-host': 'https://here.example.org',
  'x-agents-api-chain-depth': String(depth),
  'x-agents-api-chain-root': root,
})

test.each([
  ['at the top of a chain', {}, headersOf(1, 'turn-1'), { hop: 1, max_hops: 4, is_final: false }],
  [
    'two hops down',
    { caller: caller(2), link: { hop: 2, max_hops: 4, is_final: false } },
    headersOf(3, 'root-1'),
    { hop: 3, max_hops: 4, is_final: false },
  ],
  [
    'where its caller counts lower than its message',
    { caller: caller(1), link: { hop: 3, max_hops: 4, is_final: false } },
    headersOf(4, 'root-1'),
    { hop: 4, max_hops: 4, is_final: true },
  ],
])('a remote agent is told %s who asks, and how deep the chain is', async (_name, chain, headers, place) => {
  expect(await nextOf(chain)).toEqual({ ok: true, headers, chain: place })
})

test.each([
  ['at the last hop', { caller: caller(4), link: { hop: 4, max_hops: 4, is_final: true } }, undefined, 'gw:hop_limit'],
  ['below a smaller ceiling', { link: { hop: 2, max_hops: 2, is_final: true } }, undefined, 'gw:hop_limit'],
  [
    'back to whoever asked',
    { caller: caller(1), link: { hop: 1, max_hops: 4, is_final: false } },
    '@first@first.example.org',
    'gw:agent_loop',
  ],
])('a remote agent is not asked %s', async (_name, chain, address, code) => {
  expect(await nextOf(chain, address)).toEqual({ ok: false, code })
})

test('a link of a chain is kept with what is left for later, and hidden from the agent', () => {
  const chain = { caller: caller(2), link: { hop: 2, max_hops: 4, is_final: false } }
  expect(takeChainFromPayload(addChainToPayload({ note: 1 }, chain))).toEqual({ chain, rest: { note: 1 } })
  expect(addChainToPayload({ note: 1 }, {})).toEqual({ note: 1 })
})

describeOnDatabase('a call of a remote agent', (database) => {
  let vendor: VendorStub
  let peer: RemotePeerStub
  let gateway: TestGateway
  const start = (...agents: readonly Agent[]) => {
    const billing = defineAgent({
      slug: 'billing',
      description: 'Knows what people owe.',
      model: a2aAgent(peer.origin),
    })
    const connections = loopbackConnections(vendor.origin)
    gateway = createTestGateway(database(), { agents: [...agents, billing], connections })
  }
  const say = async (text: string, id = 'm1') => {
    const before = vendor.messages.length
    await gateway.deliver({ id, from: 'ada', text })
    await settleUntil(gateway, () => vendor.messages.length > before)
    return vendor.messages.at(-1)?.text ?? ''
  }
  const sent = () => peer.calls.filter(({ method }) => method === 'SendStreamingMessage')
  const done = (text: string) => withStream([taskOf('WORKING'), artifactOf(text), statusOf('COMPLETED')], 'close')
  const relay = defineAgent({
    slug: 'desk',
    async run(message, { agents }) {
      const reply = await agents.call('billing', textOf(message.parts))
      return `Billing says: ${textOf(reply?.parts ?? [])}`
    },
  })

  beforeEach(async () => {
    vendor = await startVendorStub()
    peer = await startRemotePeer()
  })
  afterEach(async () => {
    gateway.stop()
    await Promise.all([vendor.close(), peer.close()])
    expect(peer.unexpected).toEqual([])
  })

  test('is called like one here, and is told that it is the second hop', async () => {
    start(relay)
    peer.on('SendStreamingMessage', done('three euros'))
    expect(await say('what do I owe?')).toBe('Billing says: three euros')
    expect(sent()[0]?.headers).toMatchObject({
      'x-agents-api-caller-agent': 'billing',
      'x-agents-api-chain-depth': '2',
    })
  })

  test('is a tool of a model, and is described by its operator and not by its card', async () => {
    const shown: string[] = []
    const model: Model = async ({ turn, tools, messages }) => {
      shown.push(...tools.map(({ name, description }) => `${name}: ${description}`))
      if (turn === 1) return { tool_calls: [{ name: 'agent/billing', parameters: { message: 'how much?' } }] }
      return { content: `It says ${JSON.stringify(messages.at(-1)?.payload['result'])}` }
    }
    start(defineAgent({ slug: 'desk', model, agentCalls: ['billing'] }))
    peer.on('SendStreamingMessage', done('three euros'))
    expect(await say('what do I owe?')).toContain('three euros')
    expect(shown[0]).toContain('Knows what people owe.')
    expect(shown.join()).not.toContain('canary')
  })

  test('that asks back is answered in the task that asked, by the next message of the person', async () => {
    start(relay)
    peer.on(
      'SendStreamingMessage',
      withStream([taskOf('WORKING'), statusOf('INPUT_REQUIRED', 'Which month?')], 'close'),
      done('three euros'),
    )
    expect(await say('what do I owe?')).toContain('Which month?')
    expect(await say('May', 'm2')).toContain('three euros')
    expect(sent()[1]?.params.message).toMatchObject({ taskId: 't1', contextId: 'c1', parts: [{ text: 'May' }] })
    peer.on('SendStreamingMessage', done('more'))
    await say('and June?', 'm3')
    expect(sent()[2]?.params.message).not.toHaveProperty('taskId')
  })

  test('is not asked where the chain ends, and the one that asks can answer all the same', async () => {
    const chain = ['a', 'b', 'c', 'd', 'e'].map((slug, index, all) =>
      defineAgent({
        slug,
        async run(message, { agents }) {
          try {
            const reply = await agents.call(all[index + 1] ?? 'billing', textOf(message.parts))
            return `${slug} ${textOf(reply?.parts ?? [])}`
          } catch (error) {
            if (!isGatewayError(error, 'agent_call_denied')) throw error
            return `${slug} (${String(error.details['reason'])})`
          }
        },
      }),
    )
    start(...chain)
    expect(await say('hello')).toBe('a b c d e (gw:hop_limit)')
    expect(peer.calls).toEqual([])
  })

  test('with a task of its own per question is asked once for each, also where two are alike', async () => {
    const twice = defineAgent({
      slug: 'desk',
      async run(_message, { agents }) {
        const [one, two] = [await agents.call('billing', 'same'), await agents.call('billing', 'same')]
        return `${textOf(one?.parts ?? [])} ${textOf(two?.parts ?? [])}`
      },
    })
    start(twice)
    peer.on(
      'SendStreamingMessage',
      withResult({ message: { messageId: 'r', role: 'ROLE_AGENT', parts: [{ text: 'yes' }] } }),
    )
    expect(await say('go')).toBe('yes yes')
    expect(new Set(sent().map(({ params }) => params.message?.messageId)).size).toBe(2)
  })
})
