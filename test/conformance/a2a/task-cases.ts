// Tasks and lists of them.
import { expect } from 'vitest'
import { nameStatement } from '../../../src/db/client.ts'
import { aMessage, type Binding, type Body } from '../../doubles/a2a-peer.ts'
import { until } from '../../doubles/background-gateway.ts'
import { type A2aCase, refused, type Scene, sent } from './a2a-setup.ts'

type How = Parameters<Scene['call']>[3]

const state = async (scene: Scene, binding: Binding, id: string): Promise<string> =>
  (await scene.call(binding, 'GetTask', { id })).result.status.state

async function many(scene: Scene, binding: Binding, count: number, how: How): Promise<readonly string[]> {
  const ids: string[] = []
  for (let at = 0; at < count; at += 1) ids.push((await sent(scene, binding, aMessage(`n${at}`), how)).id)
  return ids
}

async function walk(scene: Scene, binding: Binding, params: Body, how: How, onPage?: () => Promise<void>) {
  const pages: Body[] = []
  for (let pageToken = ''; ; ) {
    const more = pageToken === '' ? params : { ...params, pageToken }
    const { result } = await scene.call(binding, 'ListTasks', more, how)
    pages.push(result)
    pageToken = result.nextPageToken
    if (pageToken === '') return pages
    await onPage?.()
  }
}

const idsOf = (pages: readonly Body[]): readonly string[] =>
  pages.flatMap(({ tasks }) => tasks.map(({ id }: Body) => id))

export const taskCases: readonly A2aCase[] = [
  {
    id: 'TA-01',
    claim: 'one’s own task is shown; what is not there, not theirs or no id is not',
    async run(scene, binding) {
      const own = await sent(scene, binding, aMessage('hello'))
      const foreign = await sent(scene, binding, aMessage('hello'), { token: await scene.token() })
      expect((await scene.call(binding, 'GetTask', { id: own.id })).result).toEqual(own)
      for (const id of [foreign.id, crypto.randomUUID(), 'tck-nonexistent-1'])
        expect((await refused(scene, binding, 'GetTask', { id })).code).toBe(-32001)
      expect((await refused(scene, binding, 'GetTask', { id: '%20' })).code).toBe(
        binding === 'JSONRPC' ? -32001 : -32602,
      )
      if (binding === 'JSONRPC') expect((await refused(scene, binding, 'GetTask', { id: ' ' })).fields).toEqual(['id'])
    },
  },
  {
    id: 'TA-02',
    claim: 'history is as long as it is asked for',
    async run(scene, binding) {
      const { id } = await sent(scene, binding, aMessage('ask'))
      await sent(scene, binding, aMessage('blue', { taskId: id }))
      const history = async (historyLength?: unknown) =>
        (await scene.call(binding, 'GetTask', { id, ...(historyLength === undefined ? {} : { historyLength }) })).result
          .history
      expect(await history()).toHaveLength(3)
      expect(await history(0)).toBeUndefined()
      expect((await history(1)).map(({ parts }: Body) => parts[0].text)).toEqual(['blue'])
      expect(await history(1000)).toHaveLength(3)
      for (const historyLength of [-1, 'x', 1.5])
        expect((await refused(scene, binding, 'GetTask', { id, historyLength })).fields).toEqual(['historyLength'])
    },
  },
  {
    id: 'TA-03',
    claim: 'history is what was said, in order',
    async run(scene, binding) {
      const [first, second] = [aMessage('ask', { metadata: { a: [1] } }), aMessage('ask')]
      const { id, contextId } = await sent(scene, binding, first)
      const task = await sent(scene, binding, { ...second, taskId: id })
      expect(task.history).toEqual([
        { ...first, contextId, taskId: id },
        {
          messageId: expect.any(String),
          contextId,
          taskId: id,
          role: 'ROLE_AGENT',
          parts: [{ text: 'Which colour?' }],
        },
        { ...second, contextId, taskId: id },
      ])
    },
  },
  {
    id: 'TA-04',
    claim: 'cancelling stops the run, ends the streams and is the task’s end',
    async run(scene, binding) {
      const configuration = { returnImmediately: true }
      const working = await sent(scene, binding, aMessage('wait'), { configuration })
      await until(() => scene.main.running() === 1)
      const stream = await scene.open(binding, 'SubscribeToTask', { id: working.id })
      const { result } = await scene.call(binding, 'CancelTask', { id: working.id })
      expect(result).toMatchObject({ id: working.id, status: { state: 'TASK_STATE_CANCELED' } })
      await stream.ended
      expect(stream.frames.at(-1)?.body.statusUpdate.status.state).toBe('TASK_STATE_CANCELED')
      await until(() => scene.main.running() === 0)
      const asked = await sent(scene, binding, aMessage('ask'))
      const cancelled = await scene.call(binding, 'CancelTask', { id: asked.id })
      expect(cancelled.result.status.state).toBe('TASK_STATE_CANCELED')
      expect(await state(scene, binding, asked.id)).toBe('TASK_STATE_CANCELED')
    },
  },
  {
    id: 'TA-05',
    claim: 'what is over is not cancelled; what is cancelled stays so',
    async run(scene, binding) {
      const done = await sent(scene, binding, aMessage('hello'))
      expect((await refused(scene, binding, 'CancelTask', { id: done.id })).code).toBe(-32002)
      expect((await refused(scene, binding, 'CancelTask', { id: crypto.randomUUID() })).code).toBe(-32001)
      const { id } = await sent(scene, binding, aMessage('ask'))
      await scene.call(binding, 'CancelTask', { id })
      const again = await scene.call(binding, 'CancelTask', { id })
      expect(again.result.status.state).toBe('TASK_STATE_CANCELED')
    },
  },
  {
    id: 'TA-06',
    claim: 'a run that does not listen is cancelled all the same, and what it says later is not heard',
    async run(scene, binding) {
      const task = await sent(scene, binding, aMessage('stubborn'), { configuration: { returnImmediately: true } })
      await until(() => scene.main.running() === 1)
      const before = Date.now()
      const { result } = await scene.call(binding, 'CancelTask', { id: task.id })
      expect(result.status.state).toBe('TASK_STATE_CANCELED')
      expect(Date.now() - before).toBeLessThan(5_000)
      scene.main.release()
      await until(() => scene.main.running() === 0)
      await new Promise((resolve) => setTimeout(resolve, 100))
      const { result: later } = await scene.call(binding, 'GetTask', { id: task.id })
      expect(later).toMatchObject({ status: { state: 'TASK_STATE_CANCELED' }, artifacts: [] })
      expect(later.status.message).toBeUndefined()
    },
  },
  {
    id: 'TA-07',
    claim: 'of several who cancel at once all are answered alike',
    async run(scene, binding) {
      const { id } = await sent(scene, binding, aMessage('ask'))
      const all = await Promise.all([1, 2, 3].map(() => scene.call(binding, 'CancelTask', { id })))
      expect(all.map(({ result }) => result.status.state)).toEqual(Array(3).fill('TASK_STATE_CANCELED'))
      expect(new Set(all.map(({ result }) => result.status.timestamp)).size).toBe(1)
    },
  },
  {
    id: 'TA-08',
    claim: 'a list is of the newest first, without results, and says where it goes on',
    async run(scene, binding) {
      const token = await scene.token()
      const ids = await many(scene, binding, 3, { token })
      const { result } = await scene.call(binding, 'ListTasks', {}, { token })
      expect(result).toMatchObject({ nextPageToken: '', pageSize: 50, totalSize: 3 })
      expect(idsOf([result])).toEqual(ids.toReversed())
      for (const task of result.tasks) expect(Object.keys(task).toSorted()).toEqual(['contextId', 'id', 'status'])
    },
  },
  {
    id: 'TA-09',
    claim: 'who asks for results is shown them, also that there are none',
    async run(scene, binding) {
      const token = await scene.token()
      await sent(scene, binding, aMessage('ask'), { token })
      await sent(scene, binding, aMessage('hello'), { token })
      const { result } = await scene.call(binding, 'ListTasks', { includeArtifacts: true, historyLength: 1 }, { token })
      expect(result.tasks.map(({ artifacts }: Body) => artifacts.length)).toEqual([1, 0])
      expect(result.tasks.map(({ history }: Body) => history.length)).toEqual([1, 1])
    },
  },
  {
    id: 'TA-10',
    claim: 'a page has from one to a hundred tasks',
    async run(scene, binding) {
      const token = await scene.token()
      await many(scene, binding, 2, { token })
      const size = async (pageSize: unknown) =>
        (await scene.call(binding, 'ListTasks', { pageSize }, { token })).result?.tasks.length
      expect([await size(1), await size(100)]).toEqual([1, 2])
      for (const pageSize of [0, 101, -1, 'a'])
        expect((await refused(scene, binding, 'ListTasks', { pageSize }, { token })).fields).toEqual(['pageSize'])
    },
  },
  {
    id: 'TA-11',
    claim: 'page by page every task comes once',
    async run(scene, binding) {
      const token = await scene.token()
      const ids = await many(scene, binding, 23, { token })
      const pages = await walk(scene, binding, { pageSize: 7 }, { token })
      expect(idsOf(pages)).toEqual(ids.toReversed())
      expect(pages.map(({ totalSize }) => totalSize)).toEqual([23, 23, 23, 23])
    },
  },
  {
    id: 'TA-12',
    claim: 'a task that changes between two pages costs none of the others',
    async run(scene, binding) {
      const token = await scene.token()
      const ids: string[] = []
      for (let at = 0; at < 5; at += 1) ids.push((await sent(scene, binding, aMessage('ask'), { token })).id)
      let isFirst = true
      const pages = await walk(scene, binding, { pageSize: 2 }, { token }, async () => {
        // The task at the end of the first page moves to the top.
        if (isFirst) await sent(scene, binding, aMessage('blue', { taskId: ids[3] }), { token })
        isFirst = false
      })
      expect(idsOf(pages)).toEqual(ids.toReversed())
    },
  },
  {
    id: 'TA-13',
    claim: 'tasks of one instant have an order of their own',
    async run(scene, binding) {
      const token = await scene.token()
      const ids = await many(scene, binding, 5, { token })
      const alike = nameStatement(
        'test_alike',
        `update tasks set state_at = '2026-01-01T00:00:00Z' where id = any($1::uuid[])`,
      )
      await scene.database.query(alike, [`{${ids.join(',')}}`])
      const pages = await walk(scene, binding, { pageSize: 2 }, { token })
      expect(idsOf(pages)).toEqual([...ids].toSorted().toReversed())
    },
  },
  {
    id: 'TA-14',
    claim: 'since an instant includes the instant; what is none is refused',
    async run(scene, binding) {
      const token = await scene.token()
      await sent(scene, binding, aMessage('one'), { token })
      await new Promise((resolve) => setTimeout(resolve, 5))
      const second = await sent(scene, binding, aMessage('two'), { token })
      const since = async (statusTimestampAfter: string) =>
        idsOf([(await scene.call(binding, 'ListTasks', { statusTimestampAfter }, { token })).result])
      expect(await since(second.status.timestamp)).toEqual([second.id])
      expect(await since('2030-01-01T00:00:00+01:00')).toEqual([])
      const bad = { statusTimestampAfter: 'yesterday' }
      expect((await refused(scene, binding, 'ListTasks', bad, { token })).fields).toEqual(['statusTimestampAfter'])
    },
  },
  {
    id: 'TA-15',
    claim: 'a list can be of one state, or of one context',
    async run(scene, binding) {
      const token = await scene.token()
      const asked = await sent(scene, binding, aMessage('ask'), { token })
      const done = await sent(scene, binding, aMessage('hello'), { token })
      const list = async (params: Body) => idsOf([(await scene.call(binding, 'ListTasks', params, { token })).result])
      expect(await list({ status: 'TASK_STATE_INPUT_REQUIRED' })).toEqual([asked.id])
      expect(await list({ status: 'TASK_STATE_COMPLETED' })).toEqual([done.id])
      expect(await list({ status: 'TASK_STATE_FAILED' })).toEqual([])
      expect(await list({ contextId: done.contextId })).toEqual([done.id])
      for (const status of ['completed', 'TASK_STATE_ODD'])
        expect((await refused(scene, binding, 'ListTasks', { status }, { token })).fields).toEqual(['status'])
    },
  },
  {
    id: 'TA-16',
    claim: 'a token of another caller, another question or nobody at all leads nowhere',
    async run(scene, binding) {
      const [token, other] = [await scene.token(), await scene.token()]
      await many(scene, binding, 3, { token })
      const { result } = await scene.call(binding, 'ListTasks', { pageSize: 1 }, { token })
      const pageToken: string = result.nextPageToken
      const [body = '', mark = ''] = pageToken.split('.')
      const forged = `${btoa(atob(body).replace(/\d/, '9'))}.${mark}`
      const ask = async (params: Body, by = token) =>
        (await refused(scene, binding, 'ListTasks', { pageSize: 1, ...params }, { token: by })).fields
      expect(await ask({ pageToken: forged })).toEqual(['pageToken'])
      expect(await ask({ pageToken: 'nonsense' })).toEqual(['pageToken'])
      expect(await ask({ pageToken, status: 'TASK_STATE_COMPLETED' })).toEqual(['pageToken'])
      expect(await ask({ pageToken }, other)).toEqual(['pageToken'])
      expect((await scene.call(binding, 'ListTasks', { pageSize: 2, pageToken }, { token })).result.tasks).toHaveLength(
        2,
      )
    },
  },
  {
    id: 'TA-17',
    claim: 'two callers never see each other’s tasks',
    async run(scene, binding) {
      const [one, other] = [await scene.token(), await scene.token()]
      const ids = await many(scene, binding, 2, { token: one })
      const { result } = await scene.call(binding, 'ListTasks', {}, { token: other })
      expect(result.tasks).toEqual([])
      for (const id of ids)
        expect((await refused(scene, binding, 'GetTask', { id }, { token: other })).code).toBe(-32001)
    },
  },
  {
    id: 'TA-18',
    claim: 'who shows nothing has what they know by its id, and no list',
    async run(scene, binding) {
      const how = { base: '/open', isElsewhere: true }
      const task = await sent(scene, binding, aMessage('ask'), how)
      expect((await scene.call(binding, 'GetTask', { id: task.id }, how)).result.id).toBe(task.id)
      const listed = await scene.call(binding, 'ListTasks', {}, how)
      expect(listed.result).toEqual({ tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 })
      const next = await sent(scene, binding, aMessage('blue', { taskId: task.id }), how)
      expect(next).toMatchObject({ id: task.id, status: { state: 'TASK_STATE_COMPLETED' } })
      // Names that anybody might think of join nobody's conversation, and are nobody's message.
      const simple = { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'hi' }], contextId: 'chat' }
      const [first, second] = [await sent(scene, binding, simple, how), await sent(scene, binding, simple, how)]
      expect(first.id).not.toBe(second.id)
      expect(second.artifacts[0].parts[0].text).toBe('demo heard: hi (0 before)')
      const contextId = crypto.randomUUID()
      await sent(scene, binding, aMessage('one', { contextId }), how)
      const third = await sent(scene, binding, aMessage('two', { contextId }), how)
      expect(third.artifacts[0].parts[0].text).toBe('demo heard: two (2 before)')
    },
  },
  {
    id: 'TA-20',
    claim: 'times are in UTC, with milliseconds',
    async run(scene, binding) {
      const { status } = await sent(scene, binding, aMessage('hello'))
      expect(status.timestamp).toMatch(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
    },
  },
  {
    id: 'TA-waits',
    claim: 'a task that waits behind another of its context says so, until its turn begins',
    async run(scene, binding) {
      const contextId = crypto.randomUUID()
      const how = { configuration: { returnImmediately: true } }
      const first = await sent(scene, binding, aMessage('wait', { contextId }), how)
      await until(async () => (await state(scene, binding, first.id)) === 'TASK_STATE_WORKING')
      const second = await sent(scene, binding, aMessage('hello', { contextId }), how)
      const status = async () => (await scene.call(binding, 'GetTask', { id: second.id })).result.status
      await until(async () => (await status()).message !== undefined)
      expect(await status()).toMatchObject({
        state: 'TASK_STATE_SUBMITTED',
        message: { taskId: second.id, parts: [{ text: expect.stringContaining('I finish what I am doing first') }] },
      })
      scene.main.release()
      await until(async () => (await status()).state === 'TASK_STATE_COMPLETED')
      expect((await status()).message).toBeUndefined()
    },
  },
]
