// Runs as an operator sees them: listed, shown, followed from any number on, stopped.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AgentContext, type AgentDefinition, defineAgent } from '../../../src/agents/define-agent.ts'
import type { createApp } from '../../../src/api/app.ts'
import { nameStatement } from '../../../src/db/client.ts'
import { GatewayError } from '../../../src/lib/errors.ts'
import { type AtWork, createDoor, putToWork, until } from '../../doubles/background-gateway.ts'
import { listenTo } from '../../doubles/event-stream.ts'
import { createTestApp, operatorToken } from '../../doubles/test-app.ts'
import { createTestGateway, loopbackConnections, type TestGateway } from '../../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

// biome-ignore lint/suspicious/noExplicitAny: bodies are looked into by the tests that name them.
type Body = any

const running = nameStatement('test_running', 'select id from runs order by created_at desc')
const stored = nameStatement('test_stored', 'select seq from run_events order by seq')

describeOnDatabase('the routes of runs', (database) => {
  let vendor: VendorStub
  let gateway: TestGateway
  let app: ReturnType<typeof createApp>
  let work: AtWork
  let door = createDoor()
  const start = (run: AgentDefinition['run']) => {
    gateway = createTestGateway(database(), {
      agents: [defineAgent({ slug: 'demo', run })],
      connections: loopbackConnections(vendor.origin),
    })
    app = createTestApp(gateway, database())
    work = putToWork(gateway)
  }
  const restart = async (run: AgentDefinition['run']) => {
    await work.stop()
    gateway.stop()
    start(run)
  }
  const ask = async (path: string, init: RequestInit = {}) => {
    const headers = { authorization: `Bearer ${operatorToken}`, ...init.headers }
    return app.fetch(new Request(`http://localhost${path}`, { ...init, headers }))
  }
  const read = async (path: string, init?: RequestInit) => {
    const response = await ask(path, init)
    return { status: response.status, body: (await response.json()) as Body }
  }
  const follow = async (id: string, headers: Record<string, string> = {}) =>
    listenTo(await ask(`/admin/runs/${id}/events`, { headers: { accept: 'text/event-stream', ...headers } }))
  const say = (id: string, text = 'go') => gateway.deliver({ id, from: 'ada', text })
  const idOf = async () => {
    await until(async () => (await database().query(running, [])).length > 0)
    return (await database().query<{ id: string }>(running, []))[0]?.id ?? ''
  }
  const talk = async (_message: unknown, { show, emit }: AgentContext) => {
    show('One ')
    await until(async () => (await database().query(stored, [])).length > 0)
    emit('counted', { n: 2 })
    show('two ')
    await door.passed
    show('three.')
    return 'One two three.'
  }

  beforeEach(async () => {
    door = createDoor()
    vendor = await startVendorStub()
  })
  afterEach(async () => {
    door.open()
    await work.stop()
    gateway.stop()
    await vendor.close()
  })

  test('list the newest first, by status and page by page', async () => {
    start(() => 'yes')
    for (const id of ['m1', 'm2', 'm3']) {
      await say(id)
      await until(() => vendor.messages.length === Number(id.slice(1)))
    }
    const { body } = await read('/admin/runs?limit=2&status=completed')
    expect(body.runs).toHaveLength(2)
    const rest = await read(`/admin/runs?limit=2&before=${body.next}`)
    expect(rest.body.runs).toHaveLength(1)
    expect(rest.body.next).toBeNull()
    const times = [...body.runs, ...rest.body.runs].map((run: Body) => run.createdAt)
    expect(times).toEqual(times.toSorted().toReversed())
    expect((await read('/admin/runs?status=failed')).body.runs).toEqual([])
    expect(await read('/admin/runs?status=tired')).toMatchObject({
      status: 400,
      body: { error: { code: 'bad_request' } },
    })
    expect((await read('/admin/runs/nothing')).status).toBe(404)
  })

  test('show a run as a run result, with who owns it and how long it lasted', async () => {
    start(() => 'yes')
    await say('m1')
    await until(() => vendor.messages.length === 1)
    const { body } = await read(`/admin/runs/${await idOf()}`)
    expect(body.run).toMatchObject({
      schema: 'agents-api/run-result/v1',
      status: 'completed',
      agent: 'demo',
      owner: 'loopback:ada',
      attempt: 1,
      metadata: { stop_reason: 'natural' },
    })
    expect(body.run.timestamps.ended_at >= body.run.timestamps.started_at).toBe(true)
  })

  test('give events from a cursor that only moves forward', async () => {
    start(talk)
    await say('m1')
    const id = await idOf()
    await until(async () => (await read(`/admin/runs/${id}/events`)).body.events.length >= 1)
    door.open()
    await until(() => vendor.messages.length === 1)
    const all = (await read(`/admin/runs/${id}/events`)).body
    expect(all.isOver).toBe(true)
    expect(all.events.map((event: Body) => event.seq)).toEqual(all.events.map((_: Body, index: number) => index))
    const words = all.events.filter((event: Body) => event.type === 'text_delta')
    expect(words.map((event: Body) => event.metadata.delta).join('')).toBe('One two three.')
    const paged = (await read(`/admin/runs/${id}/events?after=0&limit=1`)).body
    expect(paged).toMatchObject({ next: 1, isOver: false })
    const end = (await read(`/admin/runs/${id}/events?after=${all.next}`)).body
    expect(end).toEqual({ events: [], next: all.next, isOver: true })
    expect((await read(`/admin/runs/${id}/events?after=x`)).status).toBe(400)
  })

  test('stream events as they are stored, and go on from the last one heard', async () => {
    start(talk)
    await say('m1')
    const id = await idOf()
    const first = await follow(id)
    await until(() => first.heard.some(({ event }) => event === 'counted'))
    await first.hangUp()
    const lastId = first.heard.at(-1)?.id ?? ''
    const second = await follow(id, { 'last-event-id': lastId })
    door.open()
    await second.ended
    expect(second.heard.at(-1)).toEqual({ id: undefined, event: 'end', data: { status: 'completed' } })
    const numbers = [...first.heard, ...second.heard.slice(0, -1)].map((each) => Number(each.id))
    expect(numbers).toEqual(numbers.map((_, index) => index))
    const words = [...first.heard, ...second.heard].filter(({ event }) => event === 'text_delta')
    expect(words.map(({ data }) => (data as Body).metadata.delta).join('')).toBe('One two three.')
  })

  test('tell a listener to start over when the run does, also in another process', async () => {
    start(async (_message, { show }) => {
      show('Half of ')
      await until(async () => (await database().query(stored, [])).length > 0)
      throw new GatewayError('provider_unavailable', 'the model went away', { retryable: true })
    })
    await say('m1')
    const id = await idOf()
    const before = await follow(id)
    await until(() => before.heard.length > 0)
    await before.hangUp()
    await restart(async (_message, { show }) => {
      show('All of it.')
      return 'All of it.'
    })
    const after = await follow(id, { 'last-event-id': before.heard.at(-1)?.id ?? '' })
    await after.ended
    const events = after.heard.map(({ event }) => event)
    expect(events.slice(-3)).toEqual(['reset', 'text_delta', 'end'])
    expect(after.heard.at(-2)?.data).toMatchObject({ metadata: { delta: 'All of it.' } })
    const numbers = [...before.heard, ...after.heard.slice(0, -1)].map((each) => Number(each.id))
    expect(numbers).toEqual(numbers.map((_, index) => index))
  })

  test('stop a run, once, and say when it was over before', async () => {
    start(
      (_message, { stop }) =>
        new Promise((_resolve, reject) => {
          stop.addEventListener('abort', () => reject(stop.reason))
        }),
    )
    await say('m1')
    const id = await idOf()
    const post = (verb: string) => read(`/admin/runs/${id}/${verb}`, { method: 'POST' })
    expect((await post('stop')).body).toMatchObject({ ok: true, outcome: 'stopping' })
    await until(() => vendor.messages.length === 1)
    expect((await post('cancel')).body).toEqual({ ok: false, id, outcome: 'over', status: 'cancelled' })
    expect((await read(`/admin/runs/${id}`)).body.run).toMatchObject({
      status: 'cancelled',
      cancellation: { requested_by: 'operator:first token' },
    })
  })

  test('refuse one listener too many', async () => {
    start(talk)
    await say('m1')
    const id = await idOf()
    const listeners = []
    for (let count = 0; count < 100; count += 1) listeners.push(await follow(id))
    expect(await read(`/admin/runs/${id}/events`, { headers: { accept: 'text/event-stream' } })).toMatchObject({
      status: 503,
      body: { error: { code: 'too_many_watchers' } },
    })
    await Promise.all(listeners.map((listener) => listener.hangUp()))
    // Whoever hung up is no longer counted once the gateway has noticed.
    const places: Response[] = []
    const isLetIn = async () => {
      const response = await ask(`/admin/runs/${id}/events`, { headers: { accept: 'text/event-stream' } })
      if (response.ok) places.push(response)
      return response.ok
    }
    await until(isLetIn)
    const again = listenTo(places[0] ?? new Response())
    door.open()
    await again.ended
    expect(again.heard.at(-1)?.event).toBe('end')
  }, 120_000)
})
