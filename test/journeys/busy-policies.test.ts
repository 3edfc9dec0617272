// What becomes of messages that come while an agent is at work: they wait, join the run, or end it.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent, type ModelAgentDefinition } from '../../src/agents/define-agent.ts'
import { openAiCompatible } from '../../src/agents/models/openai-compatible.ts'
import type { ConnectionConfig } from '../../src/contract/index.ts'
import { nameStatement } from '../../src/db/client.ts'
import { listRuns } from '../../src/db/runs.ts'
import { type AtWork, createDoor, putToWork, until } from '../doubles/background-gateway.ts'
import { type ScriptedModelServer, startScriptedModel } from '../doubles/scripted-model-server.ts'
import { callOfSlowTool, slowTool } from '../doubles/slow-tool.ts'
import { createTestGateway, loopbackConnections, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const fates = nameStatement('test_fates', 'select message_id as id, state, reason from inbox order by seq')
const runs = nameStatement('test_runs', 'select status from runs order by created_at')
const spoken = nameStatement(
  'test_spoken',
  `select envelope ->> 'content' as content from messages where role = 'user' and envelope ->> 'type' = 'text'
   and inbox_id is not null order by session_id, seq`,
)
const notices = nameStatement(
  'test_notices',
  `select event -> 'metadata' as said from run_events where event ->> 'type' = 'notice'`,
)
const waiting = nameStatement('test_waiting', "select count(*)::int as count from inbox where state = 'queued'")

describeOnDatabase('a busy agent', (database) => {
  let vendor: VendorStub
  let server: ScriptedModelServer
  let gateway: TestGateway
  let work: AtWork
  let door = createDoor()
  const acted: string[] = []
  const act = slowTool(acted, () => door)
  const start = (busy: NonNullable<ModelAgentDefinition['busy']>, access?: ConnectionConfig['access']) => {
    const model = openAiCompatible({ baseUrl: server.baseUrl, model: 'scripted' })
    gateway = createTestGateway(database(), {
      agents: [defineAgent({ slug: 'demo', model, tools: [act], busy })],
      connections: loopbackConnections(vendor.origin, access === undefined ? {} : { access }),
      // The shortest these calls allow: a holder that lost its lane notices within a quarter of it.
      turns: { leaseMs: 15_000 },
    })
    work = putToWork(gateway)
  }
  const say = (id: string, text: string, from = 'ada') => gateway.deliver({ id, from, text })
  const texts = () => vendor.messages.map((message) => message.text)
  const fate = async () => {
    const rows = await database().query<{ id: string; state: string; reason: string | null }>(fates, [])
    return Object.fromEntries(
      rows.map(({ id, state, reason }) => [id, reason === null ? state : `${state}(${reason})`]),
    )
  }
  const settled = () => until(async () => !Object.values(await fate()).some((state) => /queued|in_turn/.test(state)))
  const statuses = async () => (await database().query<{ status: string }>(runs, [])).map(({ status }) => status)
  const heardIn = (request: number) =>
    server.requests[request]?.messages.filter(({ role }) => role === 'user').map(({ content }) => String(content))
  const queued = async () => (await database().query<{ count: number }>(waiting, []))[0]?.count

  beforeEach(async () => {
    acted.length = 0
    door = createDoor()
    vendor = await startVendorStub()
    server = await startScriptedModel()
  })
  afterEach(async () => {
    door.open()
    await work.stop()
    gateway.stop()
    await vendor.close()
    await server.close()
  })

  test.each([
    ['queue', { notice: 'message_next', text: expect.stringContaining('after this') }],
    ['steer', { notice: 'message_added', text: expect.stringContaining('into what I am doing') }],
  ] as const)('says once that it has what was sent meanwhile (%s)', async (busy, said) => {
    start(busy)
    server.script({ calls: [callOfSlowTool('a')] }, { text: 'Done.' })
    await say('m1', 'work')
    await until(() => acted.length > 0)
    await say('m2', 'and this')
    await say('m3', 'and that')
    const told = () => database().query<{ said: unknown }>(notices, [])
    await until(async () => (await told()).length > 0)
    door.open()
    await settled()
    expect(await told()).toEqual([{ said }])
    expect(Object.values(await fate()).filter((state) => state.startsWith('answered')).length).toBeLessThanOrEqual(2)
  })

  test('that queues answers the next message in a turn of its own', async () => {
    start('queue')
    server.script({ calls: [callOfSlowTool('1')] }, { text: 'First.' }, { text: 'Second.' })
    await say('m1', 'one')
    await until(() => acted.length === 1)
    await say('m2', 'two')
    door.open()
    await until(() => texts().length === 2)
    expect(texts()).toEqual(['First.', 'Second.'])
    expect(heardIn(1)).toEqual(['one'])
    await settled()
    expect(await fate()).toEqual({ m1: 'answered', m2: 'answered' })
  })

  test('that is steered hears its owner between two model turns, and answers both at once', async () => {
    start('steer')
    server.script({ calls: [callOfSlowTool('1')] }, { text: 'Both.' })
    await say('m1', 'one')
    await until(() => acted.length === 1)
    await say('m2', 'two')
    await say('m3', 'three')
    door.open()
    await until(() => texts().length === 1)
    expect(heardIn(1)).toEqual(['one', 'two\n\nthree'])
    await settled()
    expect(await fate()).toEqual({ m1: 'merged', m2: 'merged', m3: 'answered' })
    const lines = await database().query<{ content: string }>(spoken, [])
    expect(lines.map(({ content }) => content)).toEqual(['one', 'two', 'three'])
    expect(await statuses()).toEqual(['completed'])
  })

  test('is steered by its owner alone: what somebody else says, or asks as a command, waits', async () => {
    start('steer')
    server.script(
      { calls: [callOfSlowTool('1')] },
      { text: 'For Ada.' },
      { text: 'For Bob.' },
      { text: 'For Ada again.' },
    )
    await say('m1', 'one')
    await until(() => acted.length === 1)
    await say('b1', 'hello', 'bob')
    await say('m2', 'two')
    door.open()
    await until(() => texts().length === 3)
    expect(heardIn(1)).toEqual(['one'])
    await settled()
    expect(await fate()).toEqual({ m1: 'answered', b1: 'answered', m2: 'answered' })
  })

  test('is not steered by whom the connection does not admit', async () => {
    start('steer', { mode: 'allow_list', allow: ['loopback:ada'] })
    server.script({ calls: [callOfSlowTool('1')] }, { text: 'For Ada.' })
    await say('m1', 'one')
    await until(() => acted.length === 1)
    await say('x1', 'do something else', 'mallory')
    door.open()
    // Mallory is told whom to ask; whichever comes first.
    await until(() => texts().includes('For Ada.'))
    await settled()
    expect(heardIn(1)).toEqual(['one'])
    expect(await fate()).toEqual({ m1: 'answered', x1: 'refused(not_on_allow_list)' })
  })

  test('that died after it was steered hears again at the same place, and acts once', async () => {
    start('steer')
    server.script({ calls: [callOfSlowTool('1')] }, { hang: true })
    await say('m1', 'one')
    await until(() => acted.length === 1)
    await say('m2', 'two')
    door.open()
    await until(() => server.requests.length === 2)
    expect(heardIn(1)).toEqual(['one', 'two'])
    // As after kill -9: the lease runs out while the turn is open.
    const expire = nameStatement(
      'test_expire',
      "update lanes set lease_until = now() - interval '1 second', epoch = epoch + 1",
    )
    server.script({ text: 'Both.' })
    await database().query(expire, [])
    await until(() => texts().length === 1)
    await settled()
    // The first answer is read back; the second is asked for with what was heard after it, and nothing was merged before it.
    expect(server.requests).toHaveLength(3)
    expect(heardIn(2)).toEqual(['one', 'two'])
    expect(texts()).toEqual(['Both.'])
    expect(await fate()).toEqual({ m1: 'merged', m2: 'answered' })
    expect(acted).toEqual(['1'])
    expect(await statuses()).toEqual(['completed'])
  }, 60_000)

  test('that is interrupted stops before its next effect, says so, and answers the new message', async () => {
    start('interrupt')
    server.script({ calls: ['1', '2', '3'].map(callOfSlowTool) }, { text: 'The new one.' })
    await say('m1', 'one')
    await until(() => acted.length === 1)
    await say('m2', 'two')
    await until(
      async () => (await listRuns(gateway.deps.db, { limit: 1, before: null, status: null }))[0]?.cancelledBy !== null,
    )
    door.open()
    await until(() => texts().length === 2)
    expect(acted).toEqual(['1'])
    expect(texts()).toEqual([expect.stringContaining('you wrote again'), 'The new one.'])
    await settled()
    expect(await fate()).toEqual({ m1: 'answered', m2: 'answered' })
    expect(await statuses()).toEqual(['interrupted', 'completed'])
  })

  test('is not interrupted by somebody else', async () => {
    start('interrupt')
    server.script({ calls: ['1', '2'].map(callOfSlowTool) }, { text: 'For Ada.' }, { text: 'For Bob.' })
    await say('m1', 'one')
    await until(() => acted.length === 1)
    await say('b1', 'hello', 'bob')
    await until(async () => (await queued()) === 1)
    // Two rounds of whoever would interrupt it.
    await new Promise((resolve) => setTimeout(resolve, 150))
    door.open()
    await until(() => texts().length === 2)
    expect(acted).toEqual(['1', '2'])
    expect(texts()).toEqual(['For Ada.', 'For Bob.'])
    expect(await statuses()).toEqual(['completed', 'completed'])
  })
})
