// An agent elsewhere whose answers go wrong in every way they can (OU-03 to OU-10): bounded, told in our own words, and never
// asked twice.
import type { ServerResponse } from 'node:http'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { A2aAgentOptions } from '../../adapters/a2a/client/options.ts'
import { a2aAgent } from '../../adapters/a2a/client/remote-agent.ts'
import { defineAgent } from '../../src/agents/define-agent.ts'
import type { ParleyConfig } from '../../src/config.ts'
import { nameStatement } from '../../src/db/client.ts'
import { createUnpinnedFetch } from '../../src/lib/index.ts'
import {
  artifactOf,
  cardOf,
  type RemotePeerStub,
  startRemotePeer,
  statusOf,
  taskOf,
  withError,
  withResult,
  withStream,
} from '../doubles/remote-peer.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const finished = nameStatement('test_finished', "select step from journal where state = 'finished'")
const events = nameStatement('test_events', 'select event from run_events order by seq')
const expire = nameStatement(
  'test_expire',
  "update lanes set lease_until = now() - interval '1 second' where lease_until is not null",
)

describeOnDatabase('an agent elsewhere', (database) => {
  let vendor: VendorStub
  let peer: RemotePeerStub
  let other: RemotePeerStub
  let running: TestGateway[]

  const start = (
    options: A2aAgentOptions = {},
    more: Parameters<typeof createTestGateway>[2] = {},
    changes: Partial<ParleyConfig> = {},
  ) => {
    const agents = [defineAgent({ slug: 'far', model: a2aAgent(peer.origin, options) })]
    const connections = loopbackConnections(vendor.origin)
    const gateway = createTestGateway(database(), { agents, connections, ...changes }, more)
    running.push(gateway)
    return gateway
  }
  const say = async (gateway: TestGateway, text = 'hello', id = 'm1', ms?: number) => {
    const before = vendor.messages.length
    await gateway.deliver({ id, from: 'ada', text })
    await settleUntil(gateway, () => vendor.messages.length > before, ms)
    return vendor.messages.at(-1)?.text ?? ''
  }
  const asked = (method: string) => peer.calls.filter((call) => call.method === method)
  const told = async () =>
    (await database().query<{ event: { type: string; metadata: { delta?: string; code?: string } } }>(events, [])).map(
      ({ event }) => event,
    )

  beforeEach(async () => {
    vendor = await startVendorStub()
    peer = await startRemotePeer()
    other = await startRemotePeer()
    running = []
  })
  afterEach(async () => {
    for (const gateway of running) gateway.stop()
    await Promise.all([vendor.close(), peer.close(), other.close()])
    expect(peer.unexpected).toEqual([])
  })

  const done = [taskOf('WORKING'), artifactOf('one '), artifactOf('two', true), statusOf('COMPLETED')]

  test('whose stream is cut is taken up again where it was, and nobody is shown anything twice', async () => {
    peer.on('SendStreamingMessage', withStream(done.slice(0, 2), 'cut'))
    const grown = taskOf('WORKING', { artifacts: [{ artifactId: 'a1', parts: [{ text: 'one ' }] }] })
    peer.on('SubscribeToTask', withStream([grown, artifactOf('two', true), statusOf('COMPLETED')], 'close'))
    peer.on('GetTask', withResult(grown.task))
    expect(await say(start())).toBe('one two')
    expect(asked('SendStreamingMessage')).toHaveLength(1)
    expect(asked('SubscribeToTask')[0]?.headers['last-event-id']).toBe('e1')
    const shown = (await told()).filter(({ type }) => type === 'text_delta').map(({ metadata }) => metadata.delta)
    expect(shown.join('')).toBe('one two')
  })

  test('whose stream cannot be taken up again is asked how its task stands', async () => {
    peer.on('SendStreamingMessage', withStream(done.slice(0, 2), 'close'))
    peer.on('SubscribeToTask', withError(-32004))
    const finished = taskOf('COMPLETED', { artifacts: [{ artifactId: 'a1', parts: [{ text: 'all of it' }] }] }).task
    peer.on('GetTask', withResult(taskOf('WORKING').task), withResult(finished))
    expect(await say(start())).toBe('all of it')
    expect(asked('SendStreamingMessage')).toHaveLength(1)
  })

  test('that was asked by a process that died is found again by its task', async () => {
    const held: ServerResponse[] = []
    peer.on('SendStreamingMessage', (response, call) => {
      held.push(response)
      withStream(done.slice(0, 2))(response, call)
    })
    peer.on('SubscribeToTask', withStream(done, 'close'))
    const dying = start()
    const deadline = new AbortController()
    await dying.deliver({ id: 'm1', from: 'ada', text: 'hello' })
    const working = dying.gateway.drain({ deadline: deadline.signal, untilIdle: true })
    await expect.poll(async () => (await database().query(finished, [])).length, { timeout: 10_000 }).toBe(2)
    deadline.abort()
    await database().query(expire, [])
    const next = start()
    await settleUntil(next, () => vendor.messages.length > 0)
    expect(vendor.messages.map(({ text }) => text)).toEqual(['one two'])
    expect(asked('SendStreamingMessage')).toHaveLength(1)
    // The one that was thought dead finds that it is no longer asked.
    for (const response of held) response.destroy()
    await working
    expect(vendor.messages).toHaveLength(1)
  })

  test('is looked up before anything is sent again', async () => {
    peer.on('SendStreamingMessage', (response) => void response.destroy())
    const contextOf = () => asked('SendStreamingMessage')[0]?.params['message'] as { contextId?: string } | undefined
    const listed = () => ({ ...taskOf('COMPLETED').task, contextId: contextOf()?.contextId })
    peer.on('ListTasks', (response, call) =>
      withResult({ tasks: [listed()], nextPageToken: '', pageSize: 20, totalSize: 1 })(response, call),
    )
    // A list leaves out what came of it.
    peer.on('GetTask', (response, call) =>
      withResult({ ...listed(), artifacts: [{ artifactId: 'a', parts: [{ text: 'found' }] }] })(response, call),
    )
    expect(await say(start())).toBe('found')
    expect(asked('SendStreamingMessage')).toHaveLength(1)
  })

  test('that did not hear is asked again under the same id', async () => {
    peer.on('SendStreamingMessage', (response) => void response.destroy(), withStream(done, 'close'))
    peer.on('ListTasks', withResult({ tasks: [], nextPageToken: '', pageSize: 20, totalSize: 0 }))
    expect(await say(start())).toBe('one two')
    const ids = asked('SendStreamingMessage').map(({ params }) => params.message?.messageId)
    expect(ids).toHaveLength(2)
    expect(new Set(ids).size).toBe(1)
  })

  test('that does not tell whether it heard is not asked again, and the person is told so', async () => {
    peer.on('SendStreamingMessage', (response) => void response.destroy())
    peer.on('ListTasks', withError(-32601))
    expect(await say(start())).toContain('cannot tell whether this took effect: ask far')
    expect(asked('SendStreamingMessage')).toHaveLength(1)
  })

  test('that takes one id once is asked again where it does not tell', async () => {
    peer.on('SendStreamingMessage', (response) => void response.destroy(), withStream(done, 'close'))
    peer.on('ListTasks', withError(-32601))
    expect(await say(start({ resend: true }))).toBe('one two')
  })

  test('that is at a private address by its card is not asked', async () => {
    const supportedInterfaces = [{ url: `${other.origin}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }]
    peer.serveCard(cardOf(peer.origin, { supportedInterfaces }))
    expect(await say(start())).toContain('at a place I may not go to')
    expect(other.calls).toEqual([])
  })

  test('gets the credentials of its own origin, and no other gets them', async () => {
    peer.on('SendStreamingMessage', withStream(done, 'close'))
    await say(start({ token: 'canary-token' }))
    expect(asked('SendStreamingMessage')[0]?.headers.authorization).toBe('Bearer canary-token')
    const supportedInterfaces = [{ url: `${other.origin}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }]
    peer.serveCard(cardOf(peer.origin, { supportedInterfaces }))
    other.on('SendStreamingMessage', withStream(done, 'close'))
    await say(start({ token: 'canary-token', origins: [other.origin] }), 'again', 'm2')
    expect(other.calls[0]?.headers.authorization).toBeUndefined()
  })

  test('that redirects is not followed', async () => {
    peer.on(
      'SendStreamingMessage',
      (response) => void response.writeHead(307, { location: `${other.origin}/rpc` }).end(),
    )
    expect(await say(start())).toContain('at a place I may not go to')
    expect(other.calls).toEqual([])
  })

  test('that refuses our version is spoken to in the one before only where that is allowed', async () => {
    peer.on('SendStreamingMessage', withError(-32009))
    expect(await say(start())).toContain('speaks no language I know')
    const events03 = [
      { kind: 'task', id: 't1', contextId: 'c1', status: { state: 'working' } },
      {
        kind: 'artifact-update',
        taskId: 't1',
        contextId: 'c1',
        artifact: { artifactId: 'a', parts: [{ kind: 'text', text: 'old' }] },
      },
      { kind: 'status-update', taskId: 't1', contextId: 'c1', status: { state: 'completed' }, final: true },
    ]
    peer.on('message/stream', withStream(events03, 'close'))
    expect(await say(start({ allow03: true }), 'again', 'm2')).toBe('old')
    expect(asked('message/stream')[0]?.headers['a2a-version']).toBe('0.3')
  })

  test.each([
    ['a card that is too large', () => peer.serveCard(`{"a":"${'x'.repeat(300 * 1024)}"}`), 'more than I may take'],
    ['a card that is no card', () => peer.serveCard('<html>canary</html>'), 'could not find'],
    [
      'a card without an interface',
      () => peer.serveCard(cardOf(peer.origin, { supportedInterfaces: [] })),
      'speaks no language',
    ],
    [
      'no JSON',
      () => peer.on('SendStreamingMessage', (response) => void response.writeHead(200).end('canary')),
      'could not read',
    ],
    ['an error', () => peer.on('SendStreamingMessage', withError(-32602)), 'did not take your message'],
    [
      'a closed door',
      () => peer.on('SendStreamingMessage', (response) => void response.writeHead(401).end('canary')),
      'does not let me in',
    ],
    [
      'a failure',
      () => peer.on('SendStreamingMessage', withStream([taskOf('WORKING'), statusOf('FAILED', 'canary')], 'close')),
      'could not do it',
    ],
  ])('that answers with %s is told of in our own words', async (_name, arrange, words) => {
    arrange()
    const text = await say(start())
    expect(text).toContain(words)
    expect(text).not.toContain('canary')
  })

  test.each([
    ['one endless event', { maxEventBytes: 10_000 }, 'x'.repeat(1_000)],
    [
      'endless events',
      { maxEvents: 50 },
      `data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result: artifactOf('x', true) })}\n\n`,
    ],
    ['endless bytes', { maxBytes: 20_000 }, `: ${'x'.repeat(1_000)}\n\n`],
  ])('that sends %s is cut off and told to stop', async (_name, limits, piece) => {
    peer.on('SendStreamingMessage', (response) => {
      withStream([taskOf('WORKING')])(response, { method: '', params: {}, headers: {} })
      const timer = setInterval(() => response.write(piece), 1)
      response.on('close', () => clearInterval(timer))
    })
    peer.on('CancelTask', withResult(taskOf('CANCELED').task))
    expect(await say(start({ limits }))).toContain('said more than I may take')
    expect(asked('CancelTask')).toHaveLength(1)
  })

  test('that never ends is told to stop when its time is over', async () => {
    peer.on('SendStreamingMessage', withStream([taskOf('WORKING')]))
    peer.on('CancelTask', withResult(taskOf('CANCELED').task))
    expect(await say(start({ limits: { timeoutMs: 500 } }))).toContain('took too long')
    expect(asked('CancelTask')[0]?.params['id']).toBe('t1')
  })

  test('has its card asked for once while it is fresh, and under its tag afterwards', async () => {
    peer.on('SendStreamingMessage', withStream(done, 'close'))
    peer.serveCard(cardOf(peer.origin), { etag: '"v1"', 'cache-control': 'max-age=0' })
    const gateway = start()
    await say(gateway, 'one', 'm1')
    await say(gateway, 'two', 'm2')
    expect(peer.cardRequests.map((headers) => headers['if-none-match'])).toEqual([undefined, '"v1"'])
    peer.serveCard(cardOf(peer.origin), { 'cache-control': 'max-age=600' })
    await say(gateway, 'three', 'm3')
    await say(gateway, 'four', 'm4')
    expect(peer.cardRequests).toHaveLength(3)
  })

  test('is found by its address, through the directory of its host', async () => {
    peer.on('SendStreamingMessage', withStream(done, 'close'))
    const seen: string[] = []
    const guardedFetch = createUnpinnedFetch(async (input) => {
      const url = String(input)
      seen.push(url)
      const href = 'https://agents.example.org/card.json'
      const jrd = {
        subject: 'acct:far@example.org',
        links: [{ rel: 'https://mentionable.dev/ns/rel/agent-card', href }],
      }
      return Response.json(url === href ? cardOf(peer.origin) : jrd)
    })
    const agents = [defineAgent({ slug: 'far', model: a2aAgent('@far@example.org', { origins: [peer.origin] }) })]
    expect(await say(start({}, { guardedFetch }, { agents }))).toBe('one two')
    expect(seen).toEqual([
      'https://example.org/.well-known/webfinger?resource=acct%3Afar%40example.org',
      'https://agents.example.org/card.json',
    ])
  })
})
