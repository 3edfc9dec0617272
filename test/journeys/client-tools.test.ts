// Tools that the other side runs: offered with a run, called, answered later; the run goes on with the call paired.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { aguiChannel } from '../../adapters/agui/index.ts'
import { defineAgent, type ModelAgentDefinition } from '../../src/agents/define-agent.ts'
import { openAiCompatible } from '../../src/agents/models/openai-compatible.ts'
import type { createApp } from '../../src/api/app.ts'
import type { GatewayEvent } from '../../src/contract/gateway-events.ts'
import { nameStatement } from '../../src/db/client.ts'
import { type AtWork, putToWork, until } from '../doubles/background-gateway.ts'
import { type ScriptedModelServer, startScriptedModel } from '../doubles/scripted-model-server.ts'
import { createTestApp, operatorToken } from '../doubles/test-app.ts'
import { createTestGateway, type TestGateway } from '../doubles/test-gateway.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const transcript = nameStatement(
  'test_lines',
  `select envelope ->> 'type' as type, envelope -> 'metadata' ->> 'tool_call_id' as "callId" from messages order by seq`,
)
const requests = nameStatement('test_requests', 'select id, status, parameters, resume from runtime_tool_requests')
const makeDue = nameStatement('test_due', `update timers set due_at = now() - interval '1 s' where fired_at is null`)
const replies = nameStatement(
  'test_replies',
  `select response -> 'parts' -> 0 ->> 'content' as text, kind from turns where response is not null order by started_at`,
)

const openDoor = { name: 'open_door', description: 'Opens a door.', parameters: { type: 'object', properties: {} } }
const call = { id: 'call-7', name: 'client__open_door', arguments: JSON.stringify({ door: 3, pin: 'canary-4711' }) }

// biome-ignore lint/suspicious/noExplicitAny: bodies are looked into by the tests that name them.
type Body = any

describeOnDatabase('a tool that the other side runs', (database) => {
  let server: ScriptedModelServer
  let gateway: TestGateway
  let app: ReturnType<typeof createApp>
  let work: AtWork
  let events: GatewayEvent[]
  const start = (changes: Partial<ModelAgentDefinition> = {}) => {
    const model = openAiCompatible({ baseUrl: server.baseUrl, model: 'scripted' })
    const toolPolicy = { runtime_tools: ['client/open_door'] }
    const config = {
      agents: [defineAgent({ slug: 'demo', model, toolPolicy, ...changes })],
      connections: [{ channel: 'agui', id: 'demo', settings: {} }],
      onEvent: (event: GatewayEvent) => void events.push(event),
    }
    gateway = createTestGateway(database(), config, {}, [aguiChannel])
    app = createTestApp(gateway, database(), { watchMs: 30_000 })
    work = putToWork(gateway)
  }
  const post = async (path: string, body: object): Promise<{ status: number; body: Body }> => {
    // The operator's token is no caller's: on the run's own route nobody shows it.
    const token = path.startsWith('/admin/') ? { authorization: `Bearer ${operatorToken}` } : {}
    const headers = { 'content-type': 'application/json', ...token }
    const response = await app.request(path, { method: 'POST', headers, body: JSON.stringify(body) })
    return { status: response.status, body: await response.json() }
  }
  const read = async (path: string): Promise<Body> =>
    (await app.request(path, { headers: { authorization: `Bearer ${operatorToken}` } })).json()
  const run = (runId: string, messages: readonly object[], tools: readonly object[] = [openDoor]) =>
    post('/api/v1/agent/run', { threadId: 't1', runId, messages, tools })
  const said = (text: string) => [{ id: `m-${text.length}`, role: 'user', content: text }]
  const result = (content: string, toolCallId = 'call-7') => [
    { id: `r-${toolCallId}`, role: 'tool', toolCallId, content },
  ]

  beforeEach(async () => {
    events = []
    server = await startScriptedModel()
  })
  afterEach(async () => {
    await work.stop()
    gateway.stop()
    await server.close()
  })

  test('is shown to the model only where policy names it, and a bad declaration does not spoil the others', async () => {
    start()
    server.script({ text: 'Hi.' })
    await run('r1', said('hi'), [openDoor, { name: 'Bad Name', description: 'x' }, { name: 'unnamed_by_policy' }])
    expect(server.requests[0]?.tools?.map((tool) => tool.function.name)).toEqual(['client__open_door'])
  })

  test('pauses the run and tells the client what is asked of it; its result goes into the same thread and is answered', async () => {
    start()
    server.script({ calls: [call] }, { text: 'The door is open.' })
    const paused = await run('r1', said('open it'))
    expect(paused.status).toBe(200)
    expect(paused.body.status).toBe('input_required')
    const { policy } = paused.body.response.parts[0]
    expect(policy).toMatchObject({
      kind: 'runtime_tool_pending',
      tool_name: 'open_door',
      tool_call_id: 'call-7',
      request_id: expect.stringMatching(/^runtime-tool-[0-9a-f]{64}$/),
      parameters: { door: 3 },
    })
    const done = await run('r2', result('{"opened":true}'))
    expect(done.body.messages).toEqual([{ role: 'assistant', content: 'The door is open.' }])
    expect(JSON.stringify(server.requests[1]?.messages.at(-1))).toContain('opened')
    const lines = await database().query<{ type: string; callId: string | null }>(transcript, [])
    expect(lines.filter((line) => line.callId === 'call-7').map((line) => line.type)).toEqual([
      'tool_call',
      'tool_result',
    ])
    expect(await database().query(requests, [])).toMatchObject([
      { status: 'runtime_tool_completed', parameters: {}, resume: null },
    ])
  })

  test('is told to whoever watches, from the call to the run that goes on', async () => {
    start()
    server.script({ calls: [call] }, { text: 'The door is open.' })
    const { body } = await run('r1', said('open it'))
    await run('r2', result('{"opened":true}'))
    const told = events.filter(({ type }) => type.startsWith('runtime_tool.'))
    expect(told.map(({ type, agent, runId }) => `${type} ${agent} ${runId}`)).toEqual([
      'runtime_tool.pending demo r1',
      'runtime_tool.submitted demo r2',
      'runtime_tool.resumed demo r2',
    ])
    const { request_id } = body.response.parts[0].policy
    expect(told[0]).toMatchObject({ payload: { request_id } })
  })

  test('is not offered to an agent whose answer has a form', async () => {
    start({ output: { type: 'object' } })
    server.script({ text: '{"a":1}' })
    const { body } = await run('r1', said('hi'))
    expect(body.messages).toEqual([{ role: 'assistant', content: '{"a":1}' }])
    expect(server.requests[0]?.tools).toBeUndefined()
  })

  test('that was answered once keeps that answer, and what nobody waits for is refused in words', async () => {
    start()
    server.script({ calls: [call] }, { text: 'Open.' })
    await run('r1', said('open it'))
    await run('r2', result('{"opened":true}'))
    const again = await run('r3', result('{"opened":false}'))
    expect(again.body.messages[0].content).toContain('answered before')
    const unknown = await run('r4', result('x', 'call-unknown'))
    expect(unknown.body.messages[0].content).toContain('No tool waits')
    expect(server.requests).toHaveLength(2)
  })

  test('can be answered over the routes, by its id or its request id, and the run goes on by itself', async () => {
    start()
    server.script({ calls: [call] }, { text: 'The door stays shut.' })
    const { body } = await run('r1', said('open it'))
    const name = body.response.parts[0].policy.request_id
    const shown = await read(`/admin/tool-requests/${name}`)
    expect(shown.parameters).toEqual({ door: 3, pin: 'canary-4711' })
    expect((await post(`/admin/tool-requests/${name}/submit`, {})).status).toBe(400)
    const first = await post(`/admin/tool-requests/${shown.request.id}/submit`, { error: 'the lock is stuck' })
    const second = await post(`/admin/tool-requests/${name}/submit`, { result: 1 })
    expect([first.body.duplicate, second.body.duplicate]).toEqual([false, true])
    expect(second.body.request.result).toMatchObject({ success: false, error: 'the lock is stuck' })
    await until(async () =>
      (await database().query<{ text: string }>(replies, [])).some((each) => each.text === 'The door stays shut.'),
    )
    expect(JSON.stringify(server.requests[1]?.messages.at(-1))).toContain('the lock is stuck')
  })

  test.each([
    ['cancelled', 'was cancelled'],
    ['timed out', 'was not answered in time'],
  ])('that is %s ends the call with an error, and the model goes on', async (how, words) => {
    start()
    server.script({ calls: [call] }, { text: 'Never mind.' })
    const { body } = await run('r1', said('open it'))
    const name = body.response.parts[0].policy.request_id
    if (how === 'cancelled') await post(`/admin/tool-requests/${name}/cancel`, {})
    else await database().query(makeDue, [])
    await until(() => server.requests.length === 2)
    expect(JSON.stringify(server.requests[1]?.messages.at(-1))).toContain(words)
    await until(async () =>
      (await database().query<{ text: string }>(replies, [])).some((each) => each.text === 'Never mind.'),
    )
    expect((await post(`/admin/tool-requests/${name}/submit`, { result: 1 })).status).toBe(409)
  })
})
