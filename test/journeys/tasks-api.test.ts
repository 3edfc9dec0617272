// Tasks over the API: handed to an agent under an id of the caller's own, looked at, waited for, stopped.
import { expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { taskResultSchema } from '../../src/api/task-schemas.ts'
import { textOf } from '../../src/contract/index.ts'
import { nameStatement } from '../../src/db/client.ts'
import { type Api, hopHeaders, startApi } from '../doubles/api.ts'
import { createDoor, until } from '../doubles/background-gateway.ts'
import { madeToken } from '../doubles/tokens.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const rows = nameStatement('test_task_rows', 'select owner, agent, dialect from tasks')

const echo = defineAgent({ slug: 'echo', run: (message) => `echo: ${textOf(message.parts)}` })
const clerk = defineAgent({
  slug: 'clerk',
  skills: [{ id: 'invoices', name: 'Invoices', description: 'Writes invoices.', tags: ['money'] }],
  run: () =>
    JSON.stringify({
      schema: 'agents-api/task-result/v1',
      run_id: 'stolen',
      session_id: 'stolen',
      executor_id: 'stolen',
      status: 'FAILED',
      output: { invoice: 7 },
      execution_metrics: { tool_call_count: 3, wall_time_ms: -1 },
      diagnostics: { summary: 'no paper' },
    }),
})

describeOnDatabase('a task over the API', (database) => {
  const withApi = async (
    agents: Parameters<typeof startApi>[1],
    work: (api: Api) => Promise<void>,
    onEnd = () => {},
  ) => {
    const api = startApi(database(), agents)
    try {
      await work(api).finally(onEnd)
    } finally {
      await api.stop()
    }
  }
  const caller = async () => ({ token: (await madeToken(database(), { scopes: ['run'] })).clear })
  const ask = async (api: Api, path: string, from: { token?: string }, body?: object, headers: object = {}) => {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    const response = await api.request(
      `/api/v1/tasks/${path}`,
      { ...init, headers: { 'content-type': 'application/json', ...headers } },
      from,
    )
    return { status: response.status, body: await response.json() }
  }
  const task = (changes: object = {}) => ({ task: { id: 'order-7', instructions: 'say hello' }, ...changes })

  test('is run once under its run id, answered in its own session, and read by nobody but its caller', async () => {
    await withApi([echo], async (api) => {
      const [ada, eve] = [await caller(), await caller()]
      const wish = task({ run_id: 'run-7', session_id: 'orders', metadata: { shop: 1 } })
      const done = await ask(api, 'run-task', ada, wish, { prefer: 'wait=20' })
      expect(done).toMatchObject({
        status: 200,
        body: {
          schema: 'agents-api/task-result/v1',
          run_id: 'run-7',
          session_id: 'orders',
          status: 'succeeded',
          executor_id: 'echo',
          output: { text: 'echo: say hello' },
          metadata: { shop: 1 },
          execution_metrics: { environment: 'parley', executor_id: 'echo', wall_time_ms: expect.any(Number) },
          provenance: { gateway: 'parley', task_id: 'order-7' },
        },
      })
      expect(taskResultSchema.safeParse(done.body).error).toBeUndefined()
      expect((await ask(api, 'get-task-run?run_id=run-7', ada)).body).toEqual(done.body)
      const none = { status: 404, body: { code: 'agents_task_run_not_found' } }
      expect(await ask(api, 'get-task-run?run_id=run-7', eve)).toMatchObject(none)
      expect(await ask(api, 'get-task-run?run_id=run-7&session_id=other', ada)).toMatchObject(none)
      expect(await ask(api, 'cancel-task-run', eve, { run_id: 'run-7' })).toMatchObject(none)
      const history = await api.request('/api/v1/agent/history?threadId=orders', {}, ada)
      expect(JSON.stringify(await history.json())).toContain('echo: say hello')
    })
  })

  test('W-01 is refused without an id, and where no target fits', async () => {
    await withApi([echo], async (api) => {
      const ada = await caller()
      for (const wish of [{ task: { instructions: 'x' } }, {}, { task: { id: 'a' } }, task({ run_id: 'two words' })])
        expect(await ask(api, 'run-task', ada, wish)).toMatchObject({
          status: 400,
          body: { code: 'agents_task_invalid_input' },
        })
      const placements = [
        { required_capabilities: ['fly'] },
        { allowed_targets: ['nobody'] },
        { resource_class: 'gpu' },
      ]
      for (const placement of placements)
        for (const wish of [task({ placement }), task(placement)])
          expect(await ask(api, 'run-task', ada, wish)).toMatchObject({
            status: 422,
            body: { code: 'agents_task_no_handler' },
          })
      expect(await database().query(rows, [])).toEqual([])
    })
  })

  test('is refused as what it is, and no failure of the gateway, when it is nested without end', async () => {
    await withApi([echo], async (api) => {
      const deep = 10_000
      const text = JSON.stringify(task({ metadata: { deep: 0 } })).replace(
        '0',
        `${'{"a":'.repeat(deep)}0${'}'.repeat(deep)}`,
      )
      const init = { method: 'POST', body: text, headers: { 'content-type': 'application/json' } }
      const response = await api.request('/api/v1/tasks/run-task', init, await caller())
      expect([response.status, await response.json()]).toMatchObject([400, { code: 'agents_task_invalid_input' }])
    })
  })

  test('W-02 goes to the first other target where the preferred one lacks a capability', async () => {
    await withApi([echo, clerk], async (api) => {
      const ada = await caller()
      const placement = { preferred_target: 'echo', required_capabilities: ['invoices'] }
      expect((await ask(api, 'run-task', ada, task({ placement }))).body).toMatchObject({ executor_id: 'clerk' })
      expect((await ask(api, 'run-task', ada, task({ preferred_target: 'clerk' }))).body.executor_id).toBe('clerk')
      const { body } = await ask(api, 'list-execution-targets', ada)
      expect(body.targets.map(({ id }: { id: string }) => id)).toEqual(['echo', 'clerk'])
      const able = await ask(api, 'list-execution-targets?required_capabilities=invoices,tasks.run', ada)
      expect(able.body.targets).toMatchObject([{ schema: 'agents-api/executor-target/v1', id: 'clerk', kind: 'agent' }])
    })
  })

  test('W-03 keeps its own ids whatever the executor answers, whose status and measures are read', async () => {
    await withApi([clerk], async (api) => {
      const done = await ask(api, 'run-task', await caller(), task({ run_id: 'r3' }), { prefer: 'wait=20' })
      expect(done.body).toMatchObject({
        run_id: 'r3',
        executor_id: 'clerk',
        status: 'failed',
        output: { invoice: 7 },
        diagnostics: { summary: 'no paper' },
        session_id: expect.stringMatching(/^task_session_/),
        execution_metrics: { tool_call_count: 3, wall_time_ms: expect.any(Number), executor_id: 'clerk' },
      })
      expect(done.body.execution_metrics.wall_time_ms).toBeGreaterThanOrEqual(0)
    })
  })

  test('W-04 starts once under one run id, also at the same time and for another target', async () => {
    await withApi([echo, clerk], async (api) => {
      // A task that is over before its answer is written is answered 200.
      const started = [200, 202]
      const [ada, eve] = [await caller(), await caller()]
      const wishes = [
        task({ run_id: 'same' }),
        task({ run_id: 'same' }),
        task({ run_id: 'same', preferred_target: 'clerk' }),
      ]
      const answers = await Promise.all(wishes.map((wish) => ask(api, 'run-task', ada, wish)))
      expect(answers.filter(({ status }) => started.includes(status))).toHaveLength(1)
      expect(answers.filter(({ status }) => status === 409)).toHaveLength(2)
      const again = await ask(api, 'run-task', ada, task({ run_id: 'same', session_id: 'elsewhere' }))
      expect(again).toMatchObject({
        status: 409,
        body: { code: 'agents_task_run_already_started', result: { run_id: 'same' } },
      })
      expect(await database().query(rows, [])).toHaveLength(1)
      expect(started).toContain((await ask(api, 'run-task', eve, task({ run_id: 'same' }))).status)
    })
  })

  test('is stopped by its caller, and says afterwards that it was', async () => {
    const door = createDoor()
    let running = 0
    const slow = defineAgent({
      slug: 'slow',
      async run(_message, { stop }) {
        running += 1
        await Promise.race([door.passed, new Promise((resolve) => stop.addEventListener('abort', resolve))])
        return 'over'
      },
    })
    await withApi(
      [slow],
      async (api) => {
        const ada = await caller()
        expect((await ask(api, 'run-task', ada, task({ run_id: 'long' }))).status).toBe(202)
        await until(() => running === 1)
        const stopped = await ask(api, 'cancel-task-run', ada, { run_id: 'long' })
        expect(stopped.body).toMatchObject({ cancelled: true, result: { run_id: 'long', status: 'cancelled' } })
        expect((await ask(api, 'cancel-task-run', ada, { run_id: 'long' })).body.cancelled).toBe(false)
        expect((await ask(api, 'get-task-run?run_id=long', ada)).body.status).toBe('cancelled')
      },
      door.open,
    )
  })

  test('is for nobody without a token elsewhere, and counts as a hop in a chain of agents', async () => {
    await withApi([echo], async (api) => {
      expect((await ask(api, 'run-task', {}, {})).status).toBe(401)
      expect(await ask(api, 'run-task', { token: 'parley_00000000_x' }, task())).toMatchObject({ status: 401 })
      const far = hopHeaders({ 'x-agents-api-chain-depth': '17' })
      const refused = await ask(api, 'run-task', await caller(), task(), far)
      expect(refused).toMatchObject({ status: 400, body: { code: 'agents_task_invalid_input' } })
    })
  })

  test('goes to the agent its token is for, and to no other', async () => {
    await withApi([echo, clerk], async (api) => {
      const { clear } = await madeToken(database(), { scopes: ['run'], agent: 'clerk' })
      expect((await ask(api, 'run-task', { token: clear }, task())).body.executor_id).toBe('clerk')
      const other = await ask(api, 'run-task', { token: clear }, task({ allowed_targets: ['echo'] }))
      expect(other.body.code).toBe('agents_task_no_handler')
    })
  })
})
