// Stopping a run: by its owner and nobody else, before the next effect, with the books balanced afterwards.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AgentDefinition, defineAgent, type ModelAgentDefinition } from '../../src/agents/define-agent.ts'
import { openAiCompatible } from '../../src/agents/models/openai-compatible.ts'
import type { ParleyConfig } from '../../src/config.ts'
import { nameStatement } from '../../src/db/client.ts'
import { cancelRun, findRuns } from '../../src/db/runs.ts'
import { GatewayError } from '../../src/lib/errors.ts'
import { type AtWork, createDoor, putToWork, until } from '../doubles/background-gateway.ts'
import { type ScriptedModelServer, startScriptedModel } from '../doubles/scripted-model-server.ts'
import { callOfSlowTool, slowTool } from '../doubles/slow-tool.ts'
import { createTestGateway, loopbackConnections, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

type RunRow = { readonly id: string; readonly status: string; readonly by: string | null; readonly isOver: boolean }

const runs = nameStatement(
  'test_runs',
  `select id, status, cancelled_by as by, ended_at is not null as "isOver" from runs order by created_at`,
)
const fates = nameStatement('test_fates', 'select message_id as id, state, reason from inbox order by seq')
const waiting = nameStatement('test_waiting', 'select 1 from lanes where turn_id is not null and holder is null')
const lines = nameStatement(
  'test_lines',
  `select envelope ->> 'type' as type, envelope -> 'metadata' ->> 'tool_call_id' as call from messages m
   join turns t on t.id = m.turn_id where t.kind = 'messages' order by m.seq`,
)

describeOnDatabase('a run', (database) => {
  let vendor: VendorStub
  let server: ScriptedModelServer
  let gateway: TestGateway
  let work: AtWork
  let door = createDoor()
  const acted: string[] = []
  const act = slowTool(acted, () => door)
  const start = (
    agent: Omit<AgentDefinition, 'slug'> | Omit<ModelAgentDefinition, 'slug'>,
    turns: NonNullable<ParleyConfig['turns']> = {},
  ) => {
    gateway = createTestGateway(database(), {
      turns,
      agents: [defineAgent({ slug: 'demo', ...agent } as AgentDefinition)],
      connections: loopbackConnections(vendor.origin),
    })
    work = putToWork(gateway)
  }
  const startModel = (turns: NonNullable<ParleyConfig['turns']> = {}) =>
    start({ model: openAiCompatible({ baseUrl: server.baseUrl, model: 'scripted' }), tools: [act] }, turns)
  const say = (id: string, text: string, from = 'ada') => gateway.deliver({ id, from, text })
  const command = (id: string, name: string, from = 'ada') =>
    gateway.deliver({ id, from, text: `/${name}`, command: { name, args: '' } })
  const texts = () => vendor.messages.map((message) => message.text)
  const allRuns = () => database().query<RunRow>(runs, [])
  const fate = async () => {
    const rows = await database().query<{ id: string; state: string; reason: string | null }>(fates, [])
    return Object.fromEntries(
      rows.map(({ id, state, reason }) => [id, reason === null ? state : `${state}(${reason})`]),
    )
  }

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

  test('is stopped by its owner between two tool calls: the one in flight ends, no other begins', async () => {
    startModel({ pollMs: 600_000 })
    server.script({ calls: ['1', '2', '3'].map(callOfSlowTool) }, { text: 'All done.' })
    await say('m1', 'go')
    await until(() => acted.length === 1)
    await command('s1', 'stop')
    await until(() => texts().some((text) => text.startsWith('Stopping.')))
    door.open()
    await until(() => texts().length === 2)
    expect(acted).toEqual(['1'])
    expect(texts()[1]).toMatch(/^Stopped\. .*write again/)
    expect(await allRuns()).toMatchObject([{ status: 'cancelled', by: 'loopback:ada', isOver: true }])
    await until(async () => Object.values(await fate()).every((state) => state === 'answered'))
    expect(await fate()).toEqual({ m1: 'answered', s1: 'answered' })
    expect(server.requests).toHaveLength(1)
    // The call that was announced and never ran has a result that says so: no provider refuses the next turn.
    const stored = await database().query<{ type: string; call: string | null }>(lines, [])
    const calls = stored.filter(({ type }) => type === 'tool_call').map(({ call: id }) => id)
    expect(stored.filter(({ type }) => type === 'tool_result').map(({ call: id }) => id)).toEqual(calls)
  })

  test('is not stopped by anybody else, who is told so', async () => {
    startModel()
    server.script({ calls: ['1', '2'].map(callOfSlowTool) }, { text: 'All done.' })
    await say('m0', 'hi', 'mallory')
    await until(() => acted.length === 1)
    door.open()
    await until(() => texts().includes('All done.'))
    door = createDoor()
    server.script({ calls: ['3', '4'].map(callOfSlowTool) }, { text: 'All of it.' })
    await say('m1', 'go')
    await until(() => acted.includes('3'))
    await command('s1', 'stop', 'mallory')
    await until(() => texts().some((text) => text.includes('another person')))
    door.open()
    await until(() => texts().includes('All of it.'))
    expect(acted).toEqual(['1', '2', '3', '4'])
    expect((await allRuns()).map(({ status, by }) => [status, by])).toEqual([
      ['completed', null],
      ['completed', null],
    ])
  })

  test('is stopped while its model is silent', async () => {
    startModel()
    server.script({ hang: true })
    await say('m1', 'go')
    await until(() => server.requests.length === 1)
    await command('s1', 'stop')
    await until(() => texts().some((text) => text.startsWith('Stopped.')))
    expect(await allRuns()).toMatchObject([{ status: 'cancelled', isOver: true }])
    expect(server.requests).toHaveLength(1)
  })

  test('of a function ends at its next step, and its turn is cancelled, not dead', async () => {
    const run: AgentDefinition['run'] = async (_message, { step }) => {
      for (const n of ['1', '2', '3'])
        await step(`act ${n}`, async () => {
          acted.push(n)
          await door.passed
          return n
        })
      return 'All done.'
    }
    // Nobody looks whether it was stopped: what begins the step does.
    start({ run }, { pollMs: 600_000 })
    await say('m1', 'go')
    await until(() => acted.length === 1)
    await command('s1', 'stop')
    await until(() => texts().length === 1)
    door.open()
    await until(() => texts().length === 2)
    expect(acted).toEqual(['1'])
    expect(texts()[1]).toMatch(/^Stopped\./)
    await until(async () => (await fate())['m1'] === 'answered')
    expect(await allRuns()).toMatchObject([{ status: 'cancelled', isOver: true }])
  })

  test('can be stopped in a gateway that is full of runs', async () => {
    start(
      {
        run: async (_message, { stop }) => {
          acted.push('waits')
          await new Promise((_resolve, reject) => {
            stop.addEventListener('abort', () => reject(stop.reason))
          })
        },
      },
      { slots: 1 },
    )
    await say('m1', 'go')
    await until(() => acted.length === 1)
    await command('s1', 'stop')
    await until(() => texts().some((text) => text.startsWith('Stopped.')))
    expect(await allRuns()).toMatchObject([{ status: 'cancelled' }])
  })

  test('of a function that waits is woken by its stop signal', async () => {
    start({
      run: (_message, { stop }) =>
        new Promise((_resolve, reject) => {
          acted.push('waits')
          stop.addEventListener('abort', () => reject(stop.reason))
        }),
    })
    await say('m1', 'go')
    await until(() => acted.length === 1)
    await command('s1', 'stop')
    await until(() => texts().some((text) => text.startsWith('Stopped.')))
    expect(await allRuns()).toMatchObject([{ status: 'cancelled' }])
  })

  test('that ended anyway stays completed, and a later stop is told that nothing runs', async () => {
    start({
      run: async () => {
        acted.push('works')
        await door.passed
        return 'All done.'
      },
    })
    await say('m1', 'go')
    await until(() => acted.length === 1)
    await command('s1', 'stop')
    await until(() => texts().length === 1)
    door.open()
    await until(() => texts().includes('All done.'))
    await command('s2', 'stop')
    await until(() => texts().some((text) => text.startsWith('Nothing is running')))
    expect(await allRuns()).toMatchObject([{ status: 'completed', by: 'loopback:ada' }])
    const [run] = await allRuns()
    expect(await cancelRun(gateway.deps.db, run?.id ?? '', 'operator')).toEqual({ kind: 'over', status: 'completed' })
  })

  test('that waits out an outage is stopped without another attempt', async () => {
    start(
      {
        run: async () => {
          acted.push('asks')
          // The first try fails at once, the next one would answer.
          if (acted.length === 1) throw new GatewayError('provider_unavailable', 'no model', { retryable: true })
          return 'All done.'
        },
      },
      { retryFirstMs: 3_000 },
    )
    await say('m1', 'go')
    await until(() => acted.length === 1)
    await until(async () => (await database().query(waiting, [])).length === 1)
    await command('s1', 'stop')
    await until(() => texts().some((text) => text.startsWith('Stopped.')))
    expect(acted).toEqual(['asks'])
    expect(await allRuns()).toMatchObject([{ status: 'cancelled', isOver: true }])
  })

  test('that is paused is cancelled at once, with what it waits for', async () => {
    start({ run: () => 'I need an approval.' })
    await say('m1', 'go')
    await until(async () => (await fate())['m1'] === 'answered')
    const pause = nameStatement(
      'test_pause',
      `with paused as (update runs set status = 'approval_required' returning id, tenant, conversation_id)
       insert into pending_actions (tenant, id, turn_id, conversation_id, kind, summary, action_hash, action, status, expires_at)
       select tenant, gen_random_uuid(), id, conversation_id, 'tool', 'act', 'hash', '{}', 'pending', now() + interval '1 hour'
       from paused`,
    )
    await database().query(pause, [])
    await command('s1', 'stop')
    await until(() => texts().some((text) => text.includes('What I was waiting for is withdrawn')))
    expect(await allRuns()).toMatchObject([{ status: 'cancelled', by: 'loopback:ada' }])
    const actions = nameStatement('test_actions', 'select status, resolver from pending_actions')
    expect(await database().query(actions, [])).toEqual([{ status: 'deleted', resolver: 'loopback:ada' }])
  })

  test('keeps what it cost: usage, budgets and provider, without a word that was said', async () => {
    startModel()
    door.open()
    server.script({ calls: [callOfSlowTool('1')] }, { text: 'Secret words.' })
    await say('m1', 'go')
    await until(() => texts().includes('Secret words.'))
    const [run] = await findRuns(gateway.deps.db, (await allRuns())[0]?.id ?? '')
    expect(run).toMatchObject({
      status: 'completed',
      stopReason: 'natural',
      usage: { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 },
      budgets: { turns: { limit: 10 } },
      summary: { turn_count: 2, model: 'scripted', provider_response_id: 'chatcmpl-1' },
    })
    expect(JSON.stringify(run)).not.toContain('Secret words')
    const session = nameStatement('test_session', 'select model, provider_response_id as response from sessions')
    expect(await database().query(session, [])).toEqual([{ model: 'scripted', response: 'chatcmpl-1' }])
  })
})
