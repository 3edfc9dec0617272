// Work that was asked for and still waits for its turn can be called off, by its owner or an operator, however it was asked for;
// nobody's agent hears of it afterwards.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { a2a, a2aChannel } from '../../adapters/a2a/index.ts'
import { aguiChannel } from '../../adapters/agui/index.ts'
import { createObedientAgent, type ObedientAgent } from '../doubles/a2a-agent.ts'
import { aMessage, type Body } from '../doubles/a2a-peer.ts'
import { createTestApp, operatorToken } from '../doubles/test-app.ts'
import { createTestGateway, type TestGateway } from '../doubles/test-gateway.ts'
import { madeToken } from '../doubles/tokens.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

describeOnDatabase('what waits for its turn', (database) => {
  let gateway: TestGateway
  let app: ReturnType<typeof createTestApp>
  let obedient: ObedientAgent

  // Nobody is at work: whatever is taken waits until `settle`.
  beforeEach(() => {
    obedient = createObedientAgent()
    const connections = [{ channel: 'agui', id: 'demo', settings: {} }, a2a()]
    gateway = createTestGateway(database(), { agents: [obedient.agent], connections }, {}, [aguiChannel, a2aChannel])
    app = createTestApp(gateway, database(), { agents: [...gateway.deps.agents.values()] })
  })
  afterEach(() => gateway.stop())

  const post = (path: string, body: object, headers: Record<string, string> = {}): Promise<Response> =>
    Promise.resolve(
      app.request(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...headers },
        body: JSON.stringify(body),
      }),
    )
  const run = (runId: string, headers: Record<string, string> = {}) => {
    const messages = [{ id: `m-${runId}`, role: 'user', content: 'hello' }]
    const body = { threadId: `t-${runId}`, runId, protocolVersion: '1.0', messages }
    return post('/api/v1/agent/run', body, { accept: 'text/event-stream', ...headers })
  }
  const cancel = async (path: string, headers: Record<string, string> = {}): Promise<[number, Body]> => {
    const answer = await post(path, {}, headers)
    return [answer.status, await answer.json()]
  }
  const isOver = { ok: true, outcome: 'cancelled', status: 'cancelled' }

  test('is called off by whoever started it over the run API, and its stream ends with that', async () => {
    const stream = await run('r1')
    expect(await cancel('/api/v1/agent/runs/r1/cancel')).toMatchObject([200, isOver])
    expect(await stream.text()).toContain('"outcome":{"type":"cancelled"}')
    await gateway.settle()
    expect(obedient.heard).toEqual([])
    expect((await cancel('/api/v1/agent/runs/r1/cancel'))[0]).toBe(404)
  })

  test('is told as cancelled to whoever waits for a whole answer', async () => {
    const answer = run('r2', { accept: 'application/json' })
    await expect.poll(async () => (await cancel('/api/v1/agent/runs/r2/cancel'))[0]).toBe(200)
    expect(await (await answer).json()).toMatchObject({ status: 'cancelled' })
  })

  test('is called off by an operator', async () => {
    await (await run('r3')).body?.cancel()
    const authorization = { authorization: `Bearer ${operatorToken}` }
    expect(await cancel('/admin/runs/r3/cancel', authorization)).toMatchObject([200, isOver])
    await gateway.settle()
    expect(obedient.heard).toEqual([])
  })

  test('is not there for anybody else', async () => {
    await (await run('r4')).body?.cancel()
    const { clear } = await madeToken(database(), { scopes: ['run'] })
    expect((await cancel('/api/v1/agent/runs/r4/cancel', { authorization: `Bearer ${clear}` }))[0]).toBe(404)
    await gateway.settle()
    expect(obedient.heard).toHaveLength(1)
  })

  test('is called off as a task run', async () => {
    const wish = { task_id: 'k1', run_id: 'k1', instructions: 'hello' }
    expect((await post('/api/v1/tasks/run-task', wish)).status).toBe(202)
    const answer = await post('/api/v1/tasks/cancel-task-run', { run_id: 'k1' })
    expect(await answer.json()).toMatchObject({ cancelled: true, result: { status: 'cancelled' } })
    await gateway.settle()
    expect(obedient.heard).toEqual([])
  })

  test('is called off as a task of A2A', async () => {
    const rpc = async (method: string, params: object): Promise<Body> =>
      (await post('/a2a', { jsonrpc: '2.0', id: 1, method, params })).json()
    const configuration = { returnImmediately: true }
    const { task } = (await rpc('SendMessage', { message: aMessage('hello'), configuration })).result
    expect(task.status.state).toBe('TASK_STATE_SUBMITTED')
    expect((await rpc('CancelTask', { id: task.id })).result.status.state).toBe('TASK_STATE_CANCELED')
    await gateway.settle()
    expect(obedient.heard).toEqual([])
  })
})
