// Version 0.3, a translation at the edge.
import { expect } from 'vitest'
import { aMessage, type Body, streamOf } from '../../doubles/a2a-peer.ts'
import { until } from '../../doubles/background-gateway.ts'
import { type A2aCase, type Scene, sent } from './a2a-setup.ts'

const headers = { 'a2a-version': '' }
const type = { 'content-type': 'application/json' }
let count = 0

const said = (text: string, more: Body = {}): Body => {
  count += 1
  return { kind: 'message', messageId: `old-${count}`, role: 'user', parts: [{ kind: 'text', text }], ...more }
}

async function rpc(scene: Scene, method: string, params: Body, how: Body = {}): Promise<Body> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method, params })
  const init = { method: 'POST', headers: type, body }
  const response = await scene.request(how.path ?? '/a2a', init, { headers, ...how })
  return response.json()
}

async function rest(scene: Scene, method: string, path: string, body?: Body, how: Body = {}): Promise<Body> {
  const sending = body === undefined ? {} : { headers: type, body: JSON.stringify(body) }
  const response = await scene.request(`/a2a/v1${path}`, { method, ...sending }, { headers, ...how })
  return { status: response.status, body: await response.json() }
}

export const legacyCases: readonly A2aCase[] = [
  {
    id: 'LG-01',
    claim: 'every method of 0.3 answers in the shapes of 0.3',
    isOnce: true,
    async run(scene) {
      const { result: task } = await rpc(scene, 'message/send', { message: said('ask') })
      expect(task).toMatchObject({
        kind: 'task',
        status: { state: 'input-required', message: { kind: 'message', role: 'agent', parts: [{ kind: 'text' }] } },
        history: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'ask' }] }],
      })
      const { id } = task
      expect((await rpc(scene, 'tasks/get', { id })).result).toEqual(task)
      const pushNotificationConfig = { id: 'c1', url: 'https://hooks.example/x' }
      const config = { taskId: id, pushNotificationConfig }
      const method = (name: string): string => `tasks/pushNotificationConfig/${name}`
      const one = { id, pushNotificationConfigId: 'c1' }
      expect((await rpc(scene, method('set'), config)).result).toEqual(config)
      expect((await rpc(scene, method('get'), one)).result).toEqual(config)
      expect((await rpc(scene, method('list'), { id })).result).toEqual([config])
      expect((await rpc(scene, method('delete'), one)).result).toBeNull()
      expect((await rpc(scene, 'tasks/cancel', { id })).result).toMatchObject({ status: { state: 'canceled' } })
      expect((await rpc(scene, 'agent/getAuthenticatedExtendedCard', {})).error.code).toBe(-32007)
    },
  },
  {
    id: 'LG-02',
    claim: '0.3 lists nothing over JSON-RPC and knows no name of 1.0',
    isOnce: true,
    async run(scene) {
      for (const method of ['tasks/list', 'SendMessage', 'GetTask'])
        expect((await rpc(scene, method, {})).error.code, method).toBe(-32601)
    },
  },
  {
    id: 'LG-03',
    claim: 'a send gives the task or the message itself',
    isOnce: true,
    async run(scene) {
      expect((await rpc(scene, 'message/send', { message: said('hello') })).result.kind).toBe('task')
      expect((await rpc(scene, 'message/send', { message: said('direct') })).result).toMatchObject({
        kind: 'message',
        role: 'agent',
        parts: [{ kind: 'text', text: 'Just a message.' }],
      })
    },
  },
  {
    id: 'LG-04',
    claim: 'the last status of a stream says that it is the last',
    isOnce: true,
    async run(scene) {
      for (const [text, end] of [
        ['hello', 'completed'],
        ['ask', 'input-required'],
      ] as const) {
        const body = JSON.stringify({
          jsonrpc: '2.0',
          id: 7,
          method: 'message/stream',
          params: { message: said(text) },
        })
        const response = await scene.request('/a2a', { method: 'POST', headers: type, body }, { headers })
        const stream = streamOf('JSONRPC', response)
        await stream.ended
        expect(stream.frames.map((frame) => frame.body.kind)[0]).toBe('task')
        const updates = stream.frames.filter((frame) => frame.body.kind === 'status-update').map((frame) => frame.body)
        expect(updates.map(({ final }) => final)).toEqual(updates.map((_, index) => index === updates.length - 1))
        expect(updates.at(-1).status.state).toBe(end)
      }
    },
  },
  {
    id: 'LG-05',
    claim: 'files and data come and go unchanged, over both bindings',
    isOnce: true,
    async run(scene) {
      const parts = [
        { kind: 'text', text: 'these', metadata: { a: 1 } },
        { kind: 'file', file: { bytes: 'aGVsbG8=', name: 'a.txt', mimeType: 'text/plain' } },
        { kind: 'file', file: { uri: 'https://files.example/b' } },
        { kind: 'data', data: { deep: [1, null] } },
        { kind: 'data', data: { value: 42 }, metadata: { data_part_compat: true } },
      ]
      const { result } = await rpc(scene, 'message/send', { message: said('', { parts }) })
      expect(result.history[0].parts).toEqual(parts)
      const { result: now } = await scene.call('JSONRPC', 'GetTask', { id: result.id })
      expect(now.history[0].parts.at(-1)).toEqual({ data: 42 })
      const content = [
        { text: 'these' },
        { file: { fileWithBytes: 'aGVsbG8=', name: 'a.txt', mimeType: 'text/plain' } },
        { file: { file_with_uri: 'https://files.example/b', mime_type: 'image/png' } },
        { data: { data: { key: 'value' } } },
      ]
      const message = { message_id: `rest-${crypto.randomUUID()}`, role: 'ROLE_USER', content }
      // Also under the name that the proto itself has for it.
      const answered = await rest(scene, 'POST', '/message:send', { request: message })
      expect(answered.body.task.history[0].content).toEqual([
        ...content.slice(0, 2),
        { file: { fileWithUri: 'https://files.example/b', mimeType: 'image/png' } },
        content[3],
      ])
    },
  },
  {
    id: 'LG-06',
    claim: 'a send waits unless it says that it does not',
    isOnce: true,
    async run(scene) {
      const ask = async (text: string, configuration?: Body) =>
        (await rpc(scene, 'message/send', { message: said(text), ...(configuration ? { configuration } : {}) })).result
      expect((await ask('hello')).status.state).toBe('completed')
      expect((await ask('hello', { blocking: true })).status.state).toBe('completed')
      const { status } = await ask('wait', { blocking: false })
      expect(['submitted', 'working']).toContain(status.state)
      await until(() => scene.main.running() === 1)
      scene.main.release()
      await until(() => scene.main.running() === 0)
      // Over REST what is false is left out, as the proto has it.
      const message = { message_id: crypto.randomUUID(), role: 'ROLE_USER', content: [{ text: 'wait' }] }
      const { body } = await rest(scene, 'POST', '/message:send', { message, configuration: { history_length: 1 } })
      expect(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING']).toContain(body.task.status.state)
      await until(() => scene.main.running() === 1)
      scene.main.release()
      await until(() => scene.main.running() === 0)
    },
  },
  {
    id: 'LG-07',
    claim: 'a configuration that nobody named is found without a name, by `default` and by the task’s id',
    isOnce: true,
    async run(scene) {
      const { id } = await sent(scene, 'JSONRPC', aMessage('hello'))
      const url = 'https://hooks.example/x'
      const method = (name: string): string => `tasks/pushNotificationConfig/${name}`
      await rpc(scene, method('set'), { taskId: id, pushNotificationConfig: { url } })
      for (const more of [{}, { pushNotificationConfigId: 'default' }, { pushNotificationConfigId: id }])
        expect((await rpc(scene, method('get'), { id, ...more })).result).toMatchObject({
          taskId: id,
          pushNotificationConfig: { url },
        })
    },
  },
  {
    id: 'LG-08',
    claim: 'over REST a configuration comes wrapped, in either spelling, and is echoed',
    isOnce: true,
    async run(scene) {
      const { id } = await sent(scene, 'JSONRPC', aMessage('hello'))
      const url = 'https://hooks.example/x'
      const path = `/tasks/${id}/pushNotificationConfigs`
      const name = `tasks/${id}/pushNotificationConfigs/c1`
      const camel = {
        parent: `tasks/${id}`,
        configId: 'c1',
        config: { name, pushNotificationConfig: { url, authentication: {} } },
      }
      const snake = {
        parent: `tasks/${id}`,
        config_id: 'c2',
        config: { push_notification_config: { url, token: 't' } },
      }
      expect((await rest(scene, 'POST', path, camel)).body).toEqual({ name, pushNotificationConfig: { id: 'c1', url } })
      expect((await rest(scene, 'POST', path, snake)).body).toMatchObject({ pushNotificationConfig: { id: 'c2', url } })
      expect((await rest(scene, 'GET', `${path}/c1`)).body).toMatchObject({ name, pushNotificationConfig: { url } })
      expect((await rest(scene, 'GET', path)).body.configs).toHaveLength(2)
      expect((await rest(scene, 'DELETE', `${path}/c1`)).status).toBe(200)
    },
  },
  {
    id: 'LG-09',
    claim: 'the card over REST is the extended one, for those who show a credential',
    isOnce: true,
    async run(scene) {
      expect((await rest(scene, 'GET', '/card')).body.code).toBe(-32007)
      const token = await scene.token()
      const ask = async (how: Body) => {
        const response = await scene.request('/extended/v1/card', {}, { headers, ...how })
        return [response.status, await response.json()]
      }
      expect((await ask({ isElsewhere: true }))[0]).toBe(401)
      const [status, card] = await ask({ token })
      expect(status).toBe(200)
      expect(card).toMatchObject({
        protocolVersion: '0.3.0',
        url: 'http://localhost/extended',
        preferredTransport: 'JSONRPC',
      })
      expect(card.supportedInterfaces).toBeUndefined()
    },
  },
  {
    id: 'LG-10',
    claim: 'a task is cancelled once',
    isOnce: true,
    async run(scene) {
      const { result } = await rpc(scene, 'message/send', { message: said('ask') })
      expect((await rpc(scene, 'tasks/cancel', { id: result.id })).result.status.state).toBe('canceled')
      expect((await rpc(scene, 'tasks/cancel', { id: result.id })).error.code).toBe(-32002)
    },
  },
  {
    id: 'LG-11',
    claim: 'errors are those of 0.3, in its shape',
    isOnce: true,
    async run(scene) {
      expect((await rpc(scene, 'tasks/get', { id: 'none' })).error).toMatchObject({ code: -32001 })
      expect((await rpc(scene, 'message/send', { message: said('x', { parts: [] }) })).error.code).toBe(-32602)
      expect((await rpc(scene, 'message/send', { message: said('x', { parts: [{ kind: 'odd' }] }) })).error.code).toBe(
        -32602,
      )
      const answered = await rest(scene, 'GET', '/tasks/none')
      expect(answered).toMatchObject({ status: 404, body: { code: -32001, message: 'task not found' } })
    },
  },
  {
    id: 'LG-12',
    claim: 'extensions are read and named in the spelling of 0.3',
    isOnce: true,
    async run(scene) {
      const extension = 'urn:gw:a2a:resume:v0.1'
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { id: 'none' } })
      const init = { method: 'POST', headers: { ...type, 'x-a2a-extensions': extension }, body }
      const answered = await scene.request('/a2a', init, { headers })
      expect(answered.headers.get('x-a2a-extensions')).toBe(extension)
    },
  },
  {
    id: 'LG-13',
    claim: 'a task of one version is the same task in the other',
    isOnce: true,
    async run(scene) {
      const { result: old } = await rpc(scene, 'message/send', { message: said('ask') })
      const { result: now } = await scene.call('HTTP+JSON', 'GetTask', { id: old.id })
      expect(now).toMatchObject({ id: old.id, status: { state: 'TASK_STATE_INPUT_REQUIRED' } })
      const done = await sent(scene, 'HTTP+JSON', aMessage('blue', { taskId: old.id }))
      const { result: again } = await rpc(scene, 'tasks/get', { id: old.id })
      expect(again.status.state).toBe('completed')
      expect(again.artifacts[0].parts[0].text).toBe(done.artifacts[0].parts[0].text)
    },
  },
  {
    id: 'LG-14',
    claim: 'where 0.2 looked for it there is a card of 0.3, where there is 0.3',
    isOnce: true,
    async run(scene) {
      const card = await (await scene.request('/.well-known/agent.json', {}, { headers })).json()
      expect(card).toMatchObject({ protocolVersion: '0.3.0', url: 'http://localhost/a2a' })
    },
  },
]
