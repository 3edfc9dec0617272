// Ports of channels: what is handed in is stored before it is answered, a taken port is shown and tried again, a stop waits.
import { createServer, type Server, type Socket } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import type { Adapter, ChannelDefinition } from '../../../src/contract/index.ts'
import type { IngressContext } from '../../../src/contract/optional-verbs.ts'
import { type Database, type Failpoint, nameStatement } from '../../../src/db/client.ts'
import { createRejectionLog } from '../../../src/identity/rejected-requests.ts'
import { GatewayError } from '../../../src/lib/errors.ts'
import { createNodeListeners, type NodeListeners } from '../../../src/node/ingress.ts'
import { createDoor, until } from '../../doubles/background-gateway.ts'
import { loopbackArrival } from '../../doubles/loopback/fixtures.ts'
import { type Judge, judgedChannel } from '../../doubles/loopback/judged.ts'
import { createTestGateway, loopbackConnections, type TestGateway } from '../../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../../doubles/vendor-stub.ts'
import { watchedDatabase } from '../../doubles/watched-database.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const stored = nameStatement('test_stored', 'select message_id as id from inbox order by seq')

/** One line in, one line out, on a port of its own. */
function lineChannel(port: () => number, judge?: Judge): ChannelDefinition {
  const listen = (door: IngressContext): Promise<{ address: string; stop: () => Promise<void> }> =>
    new Promise((resolve, reject) => {
      const server = createServer((socket) => void answerLines(socket, door))
      server.once('error', reject)
      server.listen(port(), '127.0.0.1', () =>
        resolve({
          address: `127.0.0.1:${portOf(server)}`,
          stop: () => new Promise<void>((done) => server.close(() => done())),
        }),
      )
    })
  const withListen = (): Partial<Adapter> => ({ ingress: { listen } })
  return judgedChannel({ adapter: withListen, ...(judge === undefined ? {} : { judge }) })
}

async function answerLines(socket: Socket, door: IngressContext): Promise<void> {
  socket.on('error', () => {})
  for await (const chunk of socket) {
    const id = String(chunk).trim()
    const answer = await door.receive(await loopbackArrival({ id, from: 'ada', text: id }))
    socket.end('reason' in answer ? `${answer.kind} ${answer.reason}` : answer.kind)
    return
  }
}

function portOf(server: Server): number {
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

async function say(address: string, line: string): Promise<string> {
  const { connect } = await import('node:net')
  const [host = '', port = ''] = address.split(':')
  const socket = connect(Number(port), host, () => socket.write(`${line}\n`))
  let said = ''
  for await (const chunk of socket) said += String(chunk)
  return said
}

/** Where messages are stored. */
function watchedCommits(database: Database, watch: Failpoint): Database {
  return { ...database, accepting: watchedDatabase({ ...database, ...database.accepting }, watch) }
}

describeOnDatabase('a listener', (database) => {
  let vendor: VendorStub
  const open: (() => Promise<void>)[] = []
  const start = (
    on: Database,
    channel: ChannelDefinition,
  ): {
    listeners: NodeListeners
    gateway: TestGateway
    rejections: ReturnType<typeof createRejectionLog>
    tried: Promise<void>
  } => {
    const [connection] = loopbackConnections(vendor.origin, { settings: { callTimeoutMs: 100 } })
    const gateway = createTestGateway(
      on,
      { agents: [defineAgent({ slug: 'demo', run: () => 'yes' })], connections: connection ? [connection] : [] },
      {},
      [channel],
    )
    const rejections = createRejectionLog()
    const listeners = createNodeListeners(gateway, rejections)
    const tried = listeners.start()
    open.push(async () => {
      await listeners.stop()
      gateway.stop()
    })
    return { listeners, gateway, rejections, tried }
  }
  const addressOf = async (listeners: NodeListeners): Promise<string> => {
    await until(() => listeners.states()[0]?.state === 'listening')
    return listeners.states()[0]?.address ?? ''
  }
  const ids = async () => (await database().query<{ id: string }>(stored, [])).map(({ id }) => id)

  beforeEach(async () => {
    vendor = await startVendorStub()
  })
  afterEach(async () => {
    await Promise.all(open.splice(0).map((close) => close()))
    await vendor.close()
  })

  test('has started when its port is open, or known not to be', async () => {
    const first = start(
      database(),
      lineChannel(() => 0),
    )
    await first.tried
    expect(first.listeners.states()).toMatchObject([{ state: 'listening' }])
    const taken = Number(first.listeners.states()[0]?.address?.split(':').at(-1))
    const second = start(
      database(),
      lineChannel(() => taken),
    )
    await second.tried
    expect(second.listeners.states()).toMatchObject([{ state: 'failing', code: 'EADDRINUSE' }])
  })

  test('answers after the commit, in the words of what became of it', async () => {
    const judge: Judge = ({ id }) => {
      if (id === 'wait') return { kind: 'later', reason: 'dns_unavailable' }
      if (id === 'never') return { kind: 'rejected_event', reason: 'spoofed', remedy: 'none' }
      if (id === 'odd') return { kind: 'unreadable', reason: 'odd' }
      return id === 'forged' ? { kind: 'rejected', reason: 'bad_signature' } : undefined
    }
    const { listeners, rejections } = start(
      database(),
      lineChannel(() => 0, judge),
    )
    const address = await addressOf(listeners)
    expect(await say(address, 'm1')).toBe('stored')
    expect(await ids()).toEqual(['m1'])
    expect(await say(address, 'wait')).toBe('later dns_unavailable')
    expect(await say(address, 'never')).toBe('rejected_event spoofed')
    expect(await say(address, 'odd')).toBe('unreadable odd')
    expect(await say(address, 'forged')).toBe('rejected bad_signature')
    expect(rejections.list({ limit: 5 })).toMatchObject([{ reason: 'bad_signature' }])
  })

  test('asks to come again where the database does not take it, and writes down that it failed', async () => {
    const broken = watchedCommits(database(), (name) => {
      if (name === 'before:accept') throw new GatewayError('storage_unavailable', 'planted')
    })
    const { listeners, gateway } = start(
      broken,
      lineChannel(() => 0),
    )
    expect(await say(await addressOf(listeners), 'm1')).toBe('later storage_unavailable')
    expect(await ids()).toEqual([])
    expect(gateway.logged.map(({ event }) => event)).toContain('accept_failed')
  })

  test('whose port is taken warns once with what to do, is shown, and opens when the port is free', async () => {
    const holder = createServer()
    await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', () => resolve()))
    const port = portOf(holder)
    const { listeners, gateway } = start(
      database(),
      lineChannel(() => port),
    )
    await until(() => listeners.states()[0]?.state === 'failing')
    expect(listeners.states()).toEqual([
      {
        connection: 'loopback-client-id/loopback-client-id',
        state: 'failing',
        code: 'EADDRINUSE',
        problem: expect.stringContaining('set another port'),
      },
    ])
    const warnings = gateway.logged.filter(({ event }) => event === 'listener_failed')
    expect(warnings).toMatchObject([
      { level: 'warn', facts: { code: 'EADDRINUSE', problem: expect.stringContaining('set another port') } },
    ])
    await new Promise<void>((resolve) => holder.close(() => resolve()))
    expect(await addressOf(listeners)).toBe(`127.0.0.1:${port}`)
    expect(gateway.logged.filter(({ event }) => event === 'listener_failed')).toHaveLength(1)
  })

  test('that is stopped takes nobody new and lets who is there have their answer', async () => {
    const held = createDoor()
    let isAtTheCommit = false
    const slow = watchedCommits(database(), async (name) => {
      if (name !== 'before:accept') return
      isAtTheCommit = true
      await held.passed
    })
    const { listeners } = start(
      slow,
      lineChannel(() => 0),
    )
    const address = await addressOf(listeners)
    const answer = say(address, 'm1')
    await until(() => isAtTheCommit)
    let isStopped = false
    const stopped = listeners.stop().then(() => {
      isStopped = true
    })
    await expect(say(address, 'm2')).rejects.toThrow('ECONNREFUSED')
    expect(isStopped).toBe(false)
    held.open()
    expect(await answer).toBe('stored')
    await stopped
    expect(await ids()).toEqual(['m1'])
  })
})
