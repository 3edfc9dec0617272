// Turns that never return: what they cost others, what the operator is told, and how they end.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AgentDefinition, defineAgent } from '../../src/agents/define-agent.ts'
import { loadConfig, type ParleyConfig } from '../../src/config.ts'
import { textOf } from '../../src/contract/index.ts'
import { nameStatement } from '../../src/db/client.ts'
import { type RunningGateway, startNode } from '../../src/node.ts'
import { until } from '../doubles/background-gateway.ts'
import { loopbackArrival } from '../doubles/loopback/fixtures.ts'
import { readPrometheusText } from '../doubles/prometheus-text.ts'
import { createTestGateway, loopbackChannels, loopbackConnections, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { migrationsFolder } from '../setup/cloned-database.ts'
import { describeOnPostgres } from '../setup/databases.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'
import { takeDatabase } from '../setup/pooled-database.ts'

const turns = nameStatement('test_turns', 'select state, reason, attempt, failures from turns order by started_at')
const expire = nameStatement(
  'test_expire',
  "update lanes set lease_until = now() - interval '1 ms' where lease_until is not null",
)
const operator = { headers: { authorization: 'Bearer admin-token-of-this-test' } }
const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
const [here, elsewhere] = ['loopback-client-id', 'loopback-lookup']

describeOnDatabase('turns that hang', (database) => {
  let vendor: VendorStub
  let hung: string[]
  let running: { readonly gateway: TestGateway; readonly end: AbortController }[]

  /** Hangs where it is asked to, without listening to any signal. */
  const answers: AgentDefinition['run'] = async (message, { agent }) => {
    const text = textOf(message.parts)
    if (!text.includes('hang')) return `${agent}: ${text}`
    hung.push(text)
    return new Promise<string>(() => {})
  }
  const start = (changes: Partial<ParleyConfig> = {}): TestGateway => {
    const gateway = createTestGateway(database(), {
      agents: ['stuck', 'quick'].map((slug) => defineAgent({ slug, description: slug, run: answers })),
      connections: loopbackConnections(vendor.origin),
      ...changes,
    })
    const end = new AbortController()
    running.push({ gateway, end })
    gateway.gateway.drain({ deadline: end.signal }).catch(() => {})
    return gateway
  }
  /** As kill -9 leaves it: nothing is given back, leases run out. */
  const kill = async (gateway: TestGateway) => {
    running.find((each) => each.gateway === gateway)?.end.abort()
    gateway.stop()
    await sleep(100)
    await database().query(expire, [])
  }
  const hang = (gateway: TestGateway, count: number) =>
    Promise.all(
      Array.from({ length: count }, (_, index) =>
        gateway.deliver({ id: `h${index}`, from: 'ada', text: `hang ${index}`, conversation: `h${index}` }, here),
      ),
    )
  const texts = () => vendor.messages.map((message) => message.text)
  const said = (conversation: string) =>
    vendor.messages.filter((message) => message.conversation === conversation).map((message) => message.text)
  /** Three messages, each when the one before was answered; how long the slowest answer took. */
  const slowestOf = async (gateway: TestGateway, conversation: string, connection: string, to: string) => {
    let slowest = 0
    for (const n of [1, 2, 3]) {
      const asked = performance.now()
      await gateway.deliver({ id: `${conversation}-${n}`, from: 'bob', text: `${to}${n}`, conversation }, connection)
      await until(() => said(conversation).length === n, 10_000)
      slowest = Math.max(slowest, performance.now() - asked)
    }
    return slowest
  }

  beforeEach(async () => {
    vendor = await startVendorStub()
    hung = []
    running = []
  })
  afterEach(async () => {
    for (const { gateway, end } of running) {
      end.abort()
      gateway.stop()
    }
    await vendor.close()
  })

  test('leave slots to other agents and to other connections, where both are answered within two seconds, in order', async () => {
    const gateway = start()
    await hang(gateway, 70)
    // An agent on one connection: three quarters of 64.
    await until(() => hung.length >= 48)
    const slowest = await Promise.all([
      slowestOf(gateway, 'other-agent', here, '@quick '),
      slowestOf(gateway, 'other-connection', elsewhere, ''),
      slowestOf(gateway, 'other-both', elsewhere, '@quick '),
    ])
    expect(Math.max(...slowest)).toBeLessThan(2_000)
    expect(said('other-agent')).toEqual(['quick: @quick 1', 'quick: @quick 2', 'quick: @quick 3'])
    expect(said('other-connection')).toEqual(['stuck: 1', 'stuck: 2', 'stuck: 3'])
    expect(said('other-both')).toEqual(['quick: @quick 1', 'quick: @quick 2', 'quick: @quick 3'])
    expect(hung).toHaveLength(48)
    expect(gateway.gateway.slots()).toMatchObject({
      slots: 64,
      used: 48,
      fullMs: null,
      holders: [{ agent: 'stuck', connection: `${here}/${here}`, used: 48 }],
    })
  })

  test('are stopped by a command, though their agent has no slot left', async () => {
    const gateway = start({ turns: { slots: 8, reservedSlots: 2 } })
    await hang(gateway, 6)
    await until(() => hung.length === 4)
    await sleep(200)
    expect(hung).toHaveLength(4)
    const waiting = hung[0]?.replace('hang ', 'h') ?? ''
    const stop = { name: 'stop', args: '' }
    await gateway.deliver({ id: 's1', from: 'ada', text: '/stop', command: stop, conversation: waiting }, here)
    await until(() => texts().length > 0, 5_000)
    expect(texts()).toEqual([expect.stringMatching(/^Stopping\./)])
  })

  test('are not claimed before those who waited, after their holder died', async () => {
    const single = { agents: [defineAgent({ slug: 'stuck', run: answers })], turns: { slots: 4 } }
    const first = start(single)
    await hang(first, 4)
    await until(() => hung.length === 4)
    for (let n = 0; n < 12; n += 1)
      await first.deliver({ id: `m${n}`, from: 'bob', text: `${n}`, conversation: `m${n}` }, here)
    await kill(first)
    start(single)
    await until(() => texts().length === 12, 5_000)
    // They are not forgotten either.
    await until(() => hung.length === 8)
  })

  test('get one more try, for a quarter of the deadline, and end with an apology', async () => {
    const tries: number[] = []
    start({
      agents: [
        defineAgent({
          slug: 'stuck',
          run: async (_message, { signal }) => {
            const began = performance.now()
            await new Promise<void>((resolve) => {
              signal.addEventListener('abort', () => resolve())
            })
            tries.push(performance.now() - began)
          },
        }),
      ],
      turns: { deadlineMs: 800, maxFailures: 5 },
    })
    await running[0]?.gateway.deliver({ id: 'm1', from: 'ada', text: 'go' })
    await until(() => texts().length === 1)
    expect(await database().query(turns, [])).toMatchObject([{ state: 'dead', reason: 'turn_deadline', failures: 1 }])
    expect(tries).toHaveLength(2)
    expect(tries[0]).toBeGreaterThan(750)
    expect(tries[1]).toBeLessThan(600)
  })

  test('are final at the first deadline once a step had begun, also one that was finished', async () => {
    let effects = 0
    const gateway = start({
      agents: [
        defineAgent({
          slug: 'stuck',
          run: async (_message, { step }) => {
            await step('order tea', async () => (effects += 1))
            await new Promise(() => {})
          },
        }),
      ],
      turns: { deadlineMs: 200 },
    })
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'go' })
    await until(() => texts().length === 1)
    expect(await database().query(turns, [])).toMatchObject([{ state: 'dead', reason: 'turn_deadline', attempt: 1 }])
    expect(effects).toBe(1)
  })

  test.each([
    ['not tried again, and told as unknown', false, 1],
    ['tried again under the same key where they are idempotent', true, 3],
  ])('at a silent server are over long before the deadline: steps are %s', async (_name, idempotent, tries) => {
    const keys: string[] = []
    const silent = createServer((request) => void keys.push(String(request.headers['idempotency-key'])))
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
    const run: AgentDefinition['run'] = (_message, { step }) =>
      step(
        'order tea',
        async ({ fetch, key }) =>
          (await fetch(url, { method: 'POST', headers: { 'idempotency-key': key } })).statusText,
        { idempotent },
      )
    const gateway = start({
      agents: [defineAgent({ slug: 'stuck', run })],
      turns: { fetchTimeoutMs: 100, deadlineMs: 60_000 },
    })
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'go' })
    await until(() => texts().length === 1, 10_000)
    silent.closeAllConnections()
    silent.close()
    const reason = idempotent ? 'fetch_timeout' : 'tool_outcome_unknown'
    expect(await database().query(turns, [])).toMatchObject([{ state: 'dead', reason }])
    expect([keys.length, new Set(keys).size]).toEqual([tries, 1])
  })

  test('of several messages run one by one afterwards, each once and for a quarter; the innocent one is answered', async () => {
    const runs: string[] = []
    const file: Partial<ParleyConfig> = {
      agents: [
        defineAgent({
          slug: 'stuck',
          run: async (message) => {
            const text = textOf(message.parts)
            runs.push(text)
            if (text.includes('bad')) await new Promise(() => {})
            return `did ${text}`
          },
        }),
      ],
      turns: { deadlineMs: 800, maxFailures: 5 },
    }
    const gateway = createTestGateway(database(), { connections: loopbackConnections(vendor.origin), ...file })
    await gateway.deliver({ id: 'm1', from: 'ada', text: 'bad' })
    await gateway.deliver({ id: 'm2', from: 'ada', text: 'good' })
    gateway.stop()
    start(file)
    await until(() => texts().includes('did good'))
    expect(runs).toEqual(['bad\ngood', 'bad', 'good'])
    expect(await database().query(turns, [])).toMatchObject([
      { state: 'split' },
      { state: 'dead', reason: 'turn_deadline', failures: 0 },
      {},
    ])
  })
})

describeOnPostgres('slots that are all taken', (adminUrl) => {
  const logged: { readonly event: string; readonly facts: object }[] = []
  let hanging = 0
  let gateway: RunningGateway | undefined
  let cleanUp: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const step of cleanUp) await step()
    cleanUp = []
  })
  const start = async (file: Partial<ParleyConfig>) => {
    const clone = await takeDatabase(adminUrl)
    const vendor = await startVendorStub()
    const run: AgentDefinition['run'] = async (message) => {
      if (textOf(message.parts) !== 'hang') return textOf(message.parts)
      hanging += 1
      return new Promise<string>(() => {})
    }
    const config = loadConfig(
      { PARLEY_PORT: '0', DATABASE_URL: clone.url, PARLEY_ADMIN_TOKEN: 'admin-token-of-this-test' },
      { agents: [defineAgent({ slug: 'stuck', run })], connections: loopbackConnections(vendor.origin), ...file },
      loopbackChannels,
    )
    const warn = (event: string, facts: object = {}) => void logged.push({ event, facts })
    gateway = await startNode({ config, migrationsFolder, log: { info: () => {}, warn, error: warn } })
    cleanUp = [() => gateway?.stop(500) ?? Promise.resolve(), vendor.close, clone.drop]
    return vendor
  }
  const say = async (connection: string, id: string, text: string) => {
    const { bytes, headers } = await loopbackArrival({ id, from: 'ada', text, conversation: id })
    const url = `${gateway?.url}/hooks/${connection}/${connection}`
    expect((await fetch(url, { method: 'POST', headers, body: Buffer.from(bytes) })).status).toBe(200)
  }
  const ready = async () => {
    const answer = await fetch(`${gateway?.url}/readyz`, operator)
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
  }

  test('turn readiness red within five seconds, with who holds them, and green again by themselves', async () => {
    const vendor = await start({ turns: { slots: 8, deadlineMs: 7_000 } })
    for (let n = 0; n < 7; n += 1) await say(here, `h${n}`, 'hang')
    await until(() => hanging === 7)
    await say(elsewhere, 'h7', 'hang')
    const full = performance.now()
    await say(elsewhere, 'm1', 'hello')
    expect((await ready()).status).toBe(200)
    await until(async () => (await ready()).status === 503, 6_000)
    expect(performance.now() - full).toBeLessThan(5_000)
    const { body } = await ready()
    expect(body).toMatchObject({
      status: 'not_ready',
      problems: [
        { code: 'slots_full', remedy: expect.stringContaining(`agent stuck on ${here}/${here} has 7 of them`) },
      ],
      slots: {
        total: 8,
        used: 8,
        full: expect.any(Number),
        holders: [
          { agent: 'stuck', connection: `${here}/${here}`, used: 7 },
          { agent: 'stuck', connection: `${elsewhere}/${elsewhere}`, used: 1 },
        ],
      },
    })
    const metrics = readPrometheusText(await (await fetch(`${gateway?.url}/metrics`, operator)).text())
    const valuesOf = (name: string) => metrics.get(name)?.samples.map(({ value }) => value)
    expect(valuesOf('parley_slots')).toEqual([8])
    expect(valuesOf('parley_slots_used')).toEqual([7, 1])
    expect(valuesOf('parley_slots_full_seconds')?.[0]).toBeGreaterThan(3)
    expect(valuesOf('parley_slots_oldest_seconds')?.[0]).toBeGreaterThan(3)
    await until(() => logged.some(({ event }) => event === 'slots_full'), 2_000)
    expect(logged.find(({ event }) => event === 'slots_full')?.facts).toMatchObject({
      agent: 'stuck',
      held: 7,
      count: 8,
    })
    // The deadline frees them, and the one who waited is answered before they are tried again.
    await until(async () => (await ready()).status === 200, 10_000)
    await until(() => vendor.messages.some(({ text }) => text === 'hello'), 2_000)
  })

  test('stay green where every slot is taken again and again by turns that end', async () => {
    const vendor = await start({
      agents: [defineAgent({ slug: 'slow', run: () => sleep(700).then(() => 'done') })],
      turns: { slots: 2 },
    })
    for (let n = 0; n < 14; n += 1) await say(here, `m${n}`, 'hello')
    const seen = new Set<number>()
    while (vendor.messages.length < 14) {
      seen.add((await ready()).status)
      await sleep(100)
    }
    expect([...seen]).toEqual([200])
  })
})
