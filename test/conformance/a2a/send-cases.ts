// Sending.
import { expect } from 'vitest'
import { textOf } from '../../../src/contract/index.ts'
import { aMessage, type Body } from '../../doubles/a2a-peer.ts'
import { until } from '../../doubles/background-gateway.ts'
import { type A2aCase, refused, type Scene, sent } from './a2a-setup.ts'

const wrong = async (scene: Scene, binding: Parameters<A2aCase['run']>[1], message: Body) =>
  (await refused(scene, binding, 'SendMessage', { message })).fields

export const sendCases: readonly A2aCase[] = [
  {
    id: 'SE-01',
    claim: 'a send waits until the task rests',
    async run(scene, binding) {
      expect((await sent(scene, binding, aMessage('hello'))).status.state).toBe('TASK_STATE_COMPLETED')
      const asked = await sent(scene, binding, aMessage('ask'))
      expect(asked.status).toMatchObject({
        state: 'TASK_STATE_INPUT_REQUIRED',
        message: { role: 'ROLE_AGENT', parts: [{ text: 'Which colour?' }], taskId: asked.id },
      })
      expect(asked.artifacts).toEqual([])
    },
  },
  {
    id: 'SE-02',
    claim: 'who does not want to wait has the task at once',
    async run(scene, binding) {
      const configuration = { returnImmediately: true }
      const task = await sent(scene, binding, aMessage('wait'), { configuration })
      expect(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING']).toContain(task.status.state)
      await until(() => scene.main.running() === 1)
      scene.main.release()
      await until(async () => {
        const { result } = await scene.call(binding, 'GetTask', { id: task.id })
        return result.status.state === 'TASK_STATE_COMPLETED'
      })
    },
  },
  {
    id: 'SE-03',
    claim: 'an agent may answer with a mere message, and there is no task to come back to',
    async run(scene, binding) {
      const token = await scene.token()
      const message = aMessage('direct', { contextId: `ctx-${crypto.randomUUID()}` })
      const { result } = await scene.call(binding, 'SendMessage', { message }, { token })
      expect(result).toEqual({
        message: {
          messageId: expect.any(String),
          contextId: message.contextId,
          role: 'ROLE_AGENT',
          parts: [{ text: 'Just a message.' }],
        },
      })
      expect((await scene.call(binding, 'ListTasks', {}, { token })).result).toMatchObject({ tasks: [], totalSize: 0 })
      expect((await scene.call(binding, 'SendMessage', { message }, { token })).result).toEqual(result)
    },
  },
  {
    id: 'SE-04',
    claim: 'a message without its id, its role or its parts is refused by the name of what is missing',
    async run(scene, binding) {
      const cases: readonly (readonly [Body, string])[] = [
        [{ messageId: undefined }, 'message.messageId'],
        [{ messageId: '' }, 'message.messageId'],
        [{ messageId: 7 }, 'message.messageId'],
        [{ role: undefined }, 'message.role'],
        [{ role: 'ROLE_AGENT' }, 'message.role'],
        [{ role: 'ROLE_KING' }, 'message.role'],
        [{ parts: undefined }, 'message.parts'],
        [{ parts: [] }, 'message.parts'],
        [{ parts: 'hello' }, 'message.parts'],
        [{ parts: ['hello'] }, 'message.parts[0]'],
        [{ parts: [{ text: '  ' }] }, 'message.parts'],
      ]
      for (const [changes, field] of cases)
        expect(await wrong(scene, binding, aMessage('hello', changes)), JSON.stringify(changes)).toEqual([field])
      expect((await refused(scene, binding, 'SendMessage', {})).fields).toEqual(['message'])
    },
  },
  {
    id: 'SE-05',
    claim: 'a part has one content, base64 is base64, an address is a whole one',
    async run(scene, binding) {
      const cases: readonly (readonly [Body, string])[] = [
        [{}, 'message.parts[1]'],
        [{ text: 'a', url: 'https://a.example' }, 'message.parts[1]'],
        [{ raw: 'a*b=' }, 'message.parts[1].raw'],
        [{ raw: 'abcde' }, 'message.parts[1].raw'],
        [{ raw: 'A'.repeat(400_000) }, 'message.parts[1].raw'],
        [{ url: '/relative' }, 'message.parts[1].url'],
        [{ text: 5 }, 'message.parts[1].text'],
        [{ data: 'x'.repeat(300_000) }, 'message.parts[1].data'],
      ]
      for (const [part, field] of cases)
        expect(await wrong(scene, binding, aMessage('', { parts: [{ text: 'ok' }, part] }))).toEqual([field])
    },
  },
  {
    id: 'SE-06',
    claim: 'data of every form is kept as it came',
    async run(scene, binding) {
      const data = [null, [1, 'a', null], 42, 'text', false, { deep: { list: [{}] } }]
      const message = aMessage('', { parts: [{ text: 'data comes' }, ...data.map((each) => ({ data: each }))] })
      const task = await sent(scene, binding, message)
      expect(task.history[0].parts).toEqual(message.parts)
      const heard = scene.main.heard.at(-1)?.parts ?? []
      expect(heard.map(({ kind }) => kind)).toEqual(['text', ...data.map(() => 'artifact')])
      const table = { text: 'a,b\n1,2', mediaType: 'text/csv', filename: 't.csv' }
      await sent(scene, binding, aMessage('', { parts: [{ text: 'a table' }, table] }))
      const [, kept] = scene.main.heard.at(-1)?.parts ?? []
      expect(kept).toMatchObject({ kind: 'file', mime: 'text/csv', name: 't.csv' })
    },
  },
  {
    id: 'SE-07',
    claim: 'a part of a type that the agent does not take is refused before anything runs',
    async run(scene, binding) {
      const before = scene.main.heard.length
      for (const part of [
        { text: 'x', mediaType: 'text/html' },
        { data: 1 },
        { raw: 'aGk=', mediaType: 'image/png' },
      ]) {
        const message = aMessage('', { parts: [part] })
        expect((await refused(scene, binding, 'SendMessage', { message }, { base: '/picky' })).code).toBe(-32005)
      }
      expect(scene.main.heard.length).toBe(before)
    },
  },
  {
    id: 'SE-08',
    claim: 'who takes none of the agent’s types is refused',
    async run(scene, binding) {
      const ask = (acceptedOutputModes: readonly string[]) =>
        scene.call(binding, 'SendMessage', { message: aMessage('hello'), configuration: { acceptedOutputModes } })
      expect((await ask(['video/mp4'])).error?.code).toBe(-32005)
      expect((await ask(['video/mp4', 'text/*'])).error).toBeUndefined()
    },
  },
  {
    id: 'SE-09',
    claim: 'a task that is not there and one of somebody else’s are refused with the same words',
    async run(scene, binding) {
      const { id } = await sent(scene, binding, aMessage('ask'), { token: await scene.token() })
      const ask = async (taskId: string) =>
        (await scene.call(binding, 'SendMessage', { message: aMessage('blue', { taskId }) })).error
      const [foreign, none] = [await ask(id), await ask(crypto.randomUUID())]
      expect(foreign).toEqual(none)
      expect([foreign?.code, (await ask('no id at all'))?.code]).toEqual([-32001, -32001])
    },
  },
  {
    id: 'SE-10',
    claim: 'a task that is over takes no more messages',
    async run(scene, binding) {
      const { id } = await sent(scene, binding, aMessage('hello'))
      const message = aMessage('more', { taskId: id })
      expect((await refused(scene, binding, 'SendMessage', { message })).code).toBe(-32004)
    },
  },
  {
    id: 'SE-11',
    claim: 'a message for a task needs no context',
    async run(scene, binding) {
      const { id, contextId, status } = await sent(scene, binding, aMessage('ask'))
      expect(scene.main.heard.at(-1)).not.toHaveProperty('in_reply_to')
      const task = await sent(scene, binding, aMessage('blue', { taskId: id }))
      expect(task).toMatchObject({ id, contextId, status: { state: 'TASK_STATE_COMPLETED' } })
      expect(scene.main.heard.at(-1)?.in_reply_to).toBe(status.message.messageId)
      expect(task.history.map(({ role }: Body) => role)).toEqual(['ROLE_USER', 'ROLE_AGENT', 'ROLE_USER'])
    },
  },
  {
    id: 'SE-12',
    claim: 'a task of another context is refused',
    async run(scene, binding) {
      const { id } = await sent(scene, binding, aMessage('ask'))
      const fields = await wrong(scene, binding, aMessage('blue', { taskId: id, contextId: 'another' }))
      expect(fields).toEqual(['message.contextId'])
    },
  },
  {
    id: 'SE-13',
    claim: 'a context that the caller names is kept, and leads on to the same conversation',
    async run(scene, binding) {
      const contextId = `mine-${crypto.randomUUID()}`
      const first = await sent(scene, binding, aMessage('one', { contextId }))
      const second = await sent(scene, binding, aMessage('two', { contextId }))
      expect([first.contextId, second.contextId, first.id === second.id]).toEqual([contextId, contextId, false])
      expect(second.artifacts[0].parts[0].text).toBe('demo heard: two (2 before)')
    },
  },
  {
    id: 'SE-14',
    claim: 'a context of somebody else’s is refused and nothing is opened in its place',
    async run(scene, binding) {
      const { contextId } = await sent(scene, binding, aMessage('hello'), { token: await scene.token() })
      const params = { message: aMessage('let me in', { contextId }) }
      expect((await refused(scene, binding, 'SendMessage', params, { token: await scene.token() })).code).toBe(-32001)
    },
  },
  {
    id: 'SE-15',
    claim: 'the same message again, later or at once, is one run and one task',
    async run(scene, binding) {
      const before = scene.main.heard.length
      const message = aMessage('once')
      const all = await Promise.all([1, 2, 3].map(() => sent(scene, binding, message)))
      const again = await sent(scene, binding, message)
      expect(new Set([...all, again].map(({ id }) => id)).size).toBe(1)
      expect(scene.main.heard.slice(before).map(({ parts }) => textOf(parts))).toEqual(['once'])
    },
  },
  {
    id: 'SE-16',
    claim: 'another body under the same id is refused, also when both come at once',
    async run(scene, binding) {
      const message = aMessage('first')
      await sent(scene, binding, message)
      const other = { ...message, parts: [{ text: 'second' }] }
      expect(await wrong(scene, binding, other)).toEqual(['message.messageId'])
      const twin = aMessage('left')
      const before = scene.main.heard.length
      const both = await Promise.all(
        [twin, { ...twin, parts: [{ text: 'right' }] }].map((each) =>
          scene.call(binding, 'SendMessage', { message: each }),
        ),
      )
      expect(both.map(({ error }) => error?.code ?? 'taken').toSorted()).toEqual([-32602, 'taken'])
      expect(scene.main.heard.length - before).toBe(1)
    },
  },
  {
    id: 'SE-17',
    claim: 'the same id of two callers is two tasks',
    async run(scene, binding) {
      const message = aMessage('hello')
      const [one, other] = [await scene.token(), await scene.token()]
      const first = await sent(scene, binding, message, { token: one })
      const second = await sent(scene, binding, message, { token: other })
      expect(first.id).not.toBe(second.id)
    },
  },
  {
    id: 'SE-18',
    claim: 'two messages for one task wait for each other, in order',
    async run(scene, binding) {
      const { id } = await sent(scene, binding, aMessage('ask'))
      const configuration = { returnImmediately: true }
      await sent(scene, binding, aMessage('wait', { taskId: id }), { configuration })
      await until(() => scene.main.running() === 1)
      const second = sent(scene, binding, aMessage('and then', { taskId: id }))
      await new Promise((resolve) => setTimeout(resolve, 100))
      expect(scene.main.running()).toBe(1)
      scene.main.release()
      await second
      const { result } = await scene.call(binding, 'GetTask', { id })
      const asked = result.history
        .filter(({ role }: Body) => role === 'ROLE_USER')
        .map(({ parts }: Body) => parts[0].text)
      expect(asked).toEqual(['ask', 'wait', 'and then'])
      await until(() => scene.main.running() === 0)
    },
  },
  {
    id: 'SE-19',
    claim: 'what a message refers to is told to the agent if it is the caller’s, else silently left out',
    async run(scene, binding) {
      const own = await sent(scene, binding, aMessage('the first thing'))
      const foreign = await sent(scene, binding, aMessage('secret'), { token: await scene.token() })
      const referenceTaskIds = [own.id, foreign.id, crypto.randomUUID(), 'none']
      const task = await sent(scene, binding, aMessage('see above', { referenceTaskIds }))
      const said = textOf(scene.main.heard.at(-1)?.parts ?? [])
      expect(said).toContain(`[refers to task ${own.id}, completed]:\ndemo heard: the first thing`)
      expect(said).not.toContain('secret')
      expect(task.history[0]).toMatchObject({ referenceTaskIds, parts: [{ text: 'see above' }] })
      expect(scene.main.heard.at(-1)?.in_reply_to).toBe(own.artifacts[0].artifactId)
      await sent(scene, binding, aMessage('not mine', { referenceTaskIds: [foreign.id] }))
      expect(scene.main.heard.at(-1)).not.toHaveProperty('in_reply_to')
      for (const [named, heard] of [
        ['parent-1', 'parent-1'],
        ['x'.repeat(257), own.artifacts[0].artifactId],
        [7, own.artifacts[0].artifactId],
      ]) {
        const metadata = { mentionable: { in_reply_to: named } }
        await sent(scene, binding, aMessage('named', { referenceTaskIds: [own.id], metadata }))
        expect(scene.main.heard.at(-1)?.in_reply_to).toBe(heard)
      }
    },
  },
  {
    id: 'SE-20',
    claim: 'who goes away loses nothing: the run ends, and the same message finds it',
    async run(scene, binding) {
      const message = aMessage('wait')
      const leaving = new AbortController()
      const lost = scene.call(binding, 'SendMessage', { message }, { signal: leaving.signal }).catch(() => 'gone')
      await until(() => scene.main.running() === 1)
      leaving.abort()
      await lost
      scene.main.release()
      expect((await sent(scene, binding, message)).status.state).toBe('TASK_STATE_COMPLETED')
    },
  },
  {
    id: 'SE-21',
    claim: 'who has waited long enough is told how it stands, and the run goes on',
    async run(scene, binding) {
      const task = await sent(scene, binding, aMessage('wait'), { base: '/hasty' })
      expect(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING']).toContain(task.status.state)
      await until(() => scene.main.running() === 1)
      scene.main.release()
      await until(async () => {
        const { result } = await scene.call(binding, 'GetTask', { id: task.id }, { base: '/hasty' })
        return result.status.state === 'TASK_STATE_COMPLETED'
      })
    },
  },
  {
    id: 'SE-22',
    claim: 'a send says how much history comes back',
    async run(scene, binding) {
      const { id } = await sent(scene, binding, aMessage('ask'))
      const more = (historyLength: number) => ({
        message: aMessage('ask', { taskId: id }),
        configuration: { historyLength },
      })
      expect((await scene.call(binding, 'SendMessage', more(0))).result.task.history).toBeUndefined()
      expect((await scene.call(binding, 'SendMessage', more(2))).result.task.history).toHaveLength(2)
      expect((await refused(scene, binding, 'SendMessage', more(-1))).fields).toEqual(['configuration.historyLength'])
    },
  },
  {
    id: 'SE-23',
    claim: 'who wants to be told where nobody is told is refused',
    async run(scene, binding) {
      const configuration = { taskPushNotificationConfig: { url: 'https://hooks.example/a' } }
      const params = { message: aMessage('hello'), configuration }
      expect((await refused(scene, binding, 'SendMessage', params, { base: '/bare' })).code).toBe(-32003)
      const { id } = await sent(scene, binding, aMessage('hello'), { configuration })
      const { result } = await scene.call(binding, 'ListTaskPushNotificationConfigs', { taskId: id })
      expect(result.configs).toMatchObject([{ taskId: id, url: 'https://hooks.example/a' }])
    },
  },
]
