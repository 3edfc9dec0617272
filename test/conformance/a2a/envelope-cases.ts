// Envelopes, media types, limits, versions and extensions.
import { expect } from 'vitest'
import { textOf } from '../../../src/contract/index.ts'
import { aMessage, answerOf, type Body } from '../../doubles/a2a-peer.ts'
import { type A2aCase, refused, requiredExtension, type Scene, sent } from './a2a-setup.ts'

const type = { 'content-type': 'application/json' }
const post = (body: string, headers: Readonly<Record<string, string>> = type) => ({ method: 'POST', body, headers })
const envelope = (changes: Body = {}): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 'r1', method: 'GetTask', params: { id: 'none' }, ...changes })

async function rpc(scene: Scene, body: string, path = '/a2a'): Promise<Body> {
  const response = await scene.request(path, post(body))
  const text = await response.text()
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
}

export const envelopeCases: readonly A2aCase[] = [
  {
    id: 'EN-01',
    claim: 'what is no JSON is told so, without an id',
    isOnce: true,
    async run(scene) {
      expect((await rpc(scene, '{"jsonrpc":')).body).toMatchObject({ id: null, error: { code: -32700 } })
      const rest = await scene.request('/a2a/message:send', post('{"message":'))
      expect(await rest.json()).toMatchObject({ error: { code: 400, status: 'INVALID_ARGUMENT' } })
    },
  },
  {
    id: 'EN-02',
    claim: 'what is no JSON-RPC request is told so, with its id where it has one',
    isOnce: true,
    async run(scene) {
      for (const changes of [{ jsonrpc: undefined }, { jsonrpc: '1.0' }, { method: undefined }, { method: 7 }])
        expect((await rpc(scene, envelope(changes))).body).toMatchObject({ id: 'r1', error: { code: -32600 } })
    },
  },
  {
    id: 'EN-03',
    claim: 'an id comes back as it was given; what is none is refused',
    isOnce: true,
    async run(scene) {
      for (const id of [0, '', 'x', null, 7]) expect((await rpc(scene, envelope({ id }))).body.id).toBe(id)
      for (const id of [1.5, {}, [], true])
        expect((await rpc(scene, envelope({ id }))).body).toMatchObject({ id: null, error: { code: -32600 } })
    },
  },
  {
    id: 'EN-04',
    claim: 'nobody is answered who wants no answer; who would change something without one is refused',
    isOnce: true,
    async run(scene) {
      const before = scene.main.heard.length
      const notice = { id: undefined, method: 'SendMessage', params: { message: aMessage('quiet') } }
      expect(await rpc(scene, envelope({ id: undefined }))).toEqual({ status: 204, body: undefined })
      expect((await rpc(scene, envelope(notice))).body).toMatchObject({ id: null, error: { code: -32602 } })
      await sent(scene, 'JSONRPC', aMessage('loud'))
      expect(scene.main.heard.slice(before).map(({ parts }) => textOf(parts))).toEqual(['loud'])
    },
  },
  {
    id: 'EN-05',
    claim: 'a batch is one mistake',
    isOnce: true,
    async run(scene) {
      for (const batch of ['[]', `[${envelope()}]`])
        expect((await rpc(scene, batch)).body).toMatchObject({ id: null, error: { code: -32600 } })
    },
  },
  {
    id: 'EN-06',
    claim: 'an unknown method is not found',
    isOnce: true,
    async run(scene) {
      expect((await rpc(scene, envelope({ method: 'Dance' }))).body).toMatchObject({ error: { code: -32601 } })
    },
  },
  {
    id: 'EN-07',
    claim: 'parameters are an object; only the extended card needs none',
    isOnce: true,
    async run(scene) {
      for (const params of [[], null, undefined])
        expect((await rpc(scene, envelope({ params }))).body).toMatchObject({ error: { code: -32602 } })
      const bare = envelope({ method: 'GetExtendedAgentCard', params: undefined })
      expect((await rpc(scene, bare)).body).toMatchObject({ error: { code: -32004 } })
    },
  },
  {
    id: 'EN-08',
    claim: 'a body of another type is refused before it is read',
    async run(scene, binding) {
      const path = (base: string) => (binding === 'JSONRPC' ? base : `${base}/message:send`)
      const ask = async (base: string) => {
        const answer = await answerOf(
          binding,
          await scene.request(path(base), post('not json at all', { 'content-type': 'text/plain' })),
        )
        return [answer.error?.code, answer.status]
      }
      expect(await ask('/a2a')).toEqual([-32005, binding === 'JSONRPC' ? 200 : 400])
      expect(await ask('/early')).toEqual([-32005, binding === 'JSONRPC' ? 200 : 415])
    },
  },
  {
    id: 'EN-09',
    claim: 'who writes application/a2a+json is answered in it',
    isOnce: true,
    async run(scene) {
      const headers = { 'content-type': 'application/a2a+json' }
      const body = JSON.stringify({ message: aMessage('hello') })
      const response = await scene.request('/a2a/message:send', post(body, headers))
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/a2a+json'])
      const asked = await scene.request('/a2a/tasks', { headers: { accept: 'text/html, application/a2a+json;q=0.9' } })
      expect(asked.headers.get('content-type')).toBe('application/a2a+json')
    },
  },
  {
    id: 'EN-10',
    claim: 'who writes application/json is answered in it, errors included',
    isOnce: true,
    async run(scene) {
      const body = JSON.stringify({ message: aMessage('hello') })
      const response = await scene.request('/a2a/message:send', post(body))
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json'])
      expect((await scene.request('/a2a/tasks/none')).headers.get('content-type')).toBe('application/json')
    },
  },
  {
    id: 'EN-11',
    claim: 'capitals and parameters of a type do not matter',
    isOnce: true,
    async run(scene) {
      const headers = { 'content-type': 'Application/JSON; charset=UTF-8; x=y' }
      const response = await scene.request('/a2a', post(envelope(), headers))
      expect(await response.json()).toMatchObject({ error: { code: -32001 } })
    },
  },
  {
    id: 'EN-12',
    claim: 'a body that is too large is refused by its size, said or not, in the form of its binding',
    async run(scene, binding) {
      const path = binding === 'JSONRPC' ? '/hasty' : '/hasty/message:send'
      const large = envelope({ padding: 'x'.repeat(5000) })
      const chunks = new ReadableStream<Uint8Array>({
        pull: (controller) => controller.enqueue(new TextEncoder().encode('{'.repeat(1000))),
      })
      const streamed = { method: 'POST', body: chunks, headers: type, duplex: 'half' } as RequestInit
      for (const init of [post(large), streamed]) {
        const answer = await answerOf(binding, await scene.request(path, init))
        expect(answer.status).toBe(413)
        expect(answer.error?.message).toBe('the request is too large; send at most 4096 bytes')
      }
    },
  },
  {
    id: 'EN-13',
    claim: 'a slash at the end changes nothing',
    isOnce: true,
    async run(scene) {
      for (const path of ['/a2a', '/a2a/', '/a2a/demo', '/a2a/demo/'])
        expect((await rpc(scene, envelope(), path)).body, path).toMatchObject({ error: { code: -32001 } })
    },
  },
  {
    id: 'EN-14',
    claim: 'unknown paths and other verbs are told so in JSON',
    isOnce: true,
    async run(scene) {
      for (const path of ['/a2a/nothing/here', '/a2a/demo/dance', '/a2a/demo/tasks/a/b/c']) {
        const response = await scene.request(path)
        expect([response.status, await response.json()], path).toMatchObject([404, { error: { status: 'NOT_FOUND' } }])
      }
      const verb = await scene.request('/a2a/demo/tasks/none', { method: 'DELETE' })
      expect([verb.status, verb.headers.get('allow')]).toEqual([405, 'GET'])
      const rpcVerb = await scene.request('/a2a/demo', { method: 'GET' })
      expect([rpcVerb.status, rpcVerb.headers.get('allow')]).toEqual([405, 'POST'])
    },
  },
  {
    id: 'EN-15',
    claim: 'members in snake case are read, and answered in camel case',
    async run(scene, binding) {
      const { messageId, ...rest } = aMessage('hello', { context_id: 'snake-context' })
      const task = await sent(scene, binding, { message_id: messageId, ...rest })
      expect(task).toMatchObject({ contextId: 'snake-context', history: [{ messageId }] })
      expect(JSON.stringify(task)).not.toMatch(/_id"/)
      const { result } = await scene.call(binding, 'ListTasks', { context_id: 'snake-context', page_size: 1 })
      expect(result).toMatchObject({ pageSize: 1, tasks: [{ contextId: 'snake-context' }] })
    },
  },
  {
    id: 'EN-16',
    claim: 'unknown members are nobody’s business',
    async run(scene, binding) {
      const message = aMessage('', { parts: [{ text: 'hello', novelty: 1 }], novelty: { a: 1 } })
      const { result } = await scene.call(binding, 'SendMessage', {
        message,
        configuration: { novelty: [] },
        novelty: 2,
      })
      expect(result.task.status.state).toBe('TASK_STATE_COMPLETED')
    },
  },
  {
    id: 'EN-17',
    claim: 'compressed bodies, deep nesting and heaps of members cost no more than a typed refusal',
    isOnce: true,
    async run(scene) {
      const packed = await scene.request('/a2a', post(envelope(), { ...type, 'content-encoding': 'gzip' }))
      expect(await packed.json()).toMatchObject({ error: { code: -32005 } })
      const deep = envelope({ params: JSON.parse(`${'{"a":'.repeat(60)}1${'}'.repeat(60)}`) }).replace(
        '"a":1',
        `"a":${'['.repeat(80)}${']'.repeat(80)}`,
      )
      expect((await rpc(scene, deep)).body).toMatchObject({ error: { code: -32600 } })
      const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`k${index}`, index]))
      expect((await rpc(scene, envelope({ params: many }))).body).toMatchObject({ error: { code: -32602 } })
    },
  },
  {
    id: 'EN-18',
    claim: 'an error has a code, words and typed details, and nothing else',
    isOnce: true,
    async run(scene) {
      const { body } = await rpc(scene, envelope())
      expect(body).toEqual({
        jsonrpc: '2.0',
        id: 'r1',
        error: {
          code: -32001,
          message: 'task not found',
          data: [
            {
              '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
              reason: 'TASK_NOT_FOUND',
              domain: 'a2a-protocol.org',
            },
          ],
        },
      })
    },
  },
  {
    id: 'EN-19',
    claim: 'over REST the code is the status, under the name the table gives it',
    isOnce: true,
    async run(scene) {
      const body = async (path: string, init: RequestInit = {}) => {
        const response = await scene.request(path, init)
        return [response.status, (await response.json()).error]
      }
      expect(await body('/a2a/tasks/none')).toMatchObject([404, { code: 404, status: 'NOT_FOUND' }])
      const off = '/tasks/none/pushNotificationConfigs'
      expect(await body(`/bare${off}`)).toMatchObject([400, { code: 400, status: 'FAILED_PRECONDITION' }])
      expect(await body(`/early${off}`)).toMatchObject([400, { code: 400, status: 'UNIMPLEMENTED' }])
    },
  },
  {
    id: 'EN-20',
    claim: 'what an agent broke on is not told; a reference is',
    async run(scene, binding) {
      const task = await sent(scene, binding, aMessage('throw'))
      expect(task.status.state).toBe('TASK_STATE_FAILED')
      expect(JSON.stringify(task)).not.toContain('hunter2')
      expect(task.status.message.parts[0].text).toMatch(/\(ref [\w-]+\)/)
    },
  },
]

export const versionCases: readonly A2aCase[] = [
  {
    id: 'VE-01',
    claim: 'patches and blanks do not make another version',
    async run(scene, binding) {
      for (const version of ['1.0', ' 1.0 ', '1.0.1']) {
        const headers = { 'a2a-version': version }
        expect((await refused(scene, binding, 'GetTask', { id: 'none' }, { headers })).code).toBe(-32001)
      }
    },
  },
  {
    id: 'VE-02',
    claim: 'other versions are refused, with those there are',
    async run(scene, binding) {
      for (const version of ['99.0', '2.0', 'abc', '1']) {
        const answer = await scene.call(binding, 'GetTask', { id: 'none' }, { headers: { 'a2a-version': version } })
        expect(answer.error).toMatchObject({ code: -32009, message: expect.stringContaining('1.0, 0.3') })
        expect(answer.status).toBe(binding === 'JSONRPC' ? 200 : 400)
      }
    },
  },
  {
    id: 'VE-03',
    claim: 'no version means 0.3, where there is 0.3',
    isOnce: true,
    async run(scene) {
      const headers = { 'a2a-version': '' }
      const old = await scene.request('/a2a', post(envelope({ method: 'tasks/get' })), { headers })
      expect(await old.json()).toMatchObject({ error: { code: -32001 } })
      const none = await scene.request('/strict', post(envelope()), { headers })
      expect(await none.json()).toMatchObject({
        error: { code: -32009, message: expect.stringContaining('A2A-Version') },
      })
    },
  },
  {
    id: 'VE-04',
    claim: 'the query may say the version; the header goes before it',
    isOnce: true,
    async run(scene) {
      const headers = { 'a2a-version': '' }
      const byQuery = await scene.request('/a2a?A2A-Version=1.0', post(envelope()), { headers })
      expect(await byQuery.json()).toMatchObject({ error: { code: -32001 } })
      const byHeader = await scene.request('/a2a?A2A-Version=99.0', post(envelope()))
      expect(await byHeader.json()).toMatchObject({ error: { code: -32001 } })
    },
  },
  {
    id: 'VE-05',
    claim: 'a method of one version is not found in the other',
    isOnce: true,
    async run(scene) {
      const ask = async (method: string, version: string) => {
        const response = await scene.request('/a2a', post(envelope({ method })), {
          headers: { 'a2a-version': version },
        })
        return (await response.json()).error.code
      }
      expect([await ask('GetTask', '0.3'), await ask('tasks/get', '1.0')]).toEqual([-32601, -32601])
      const paths: readonly (readonly [string, string])[] = [
        ['/a2a/v1/tasks/x', '1.0'],
        ['/a2a/tasks/x', '0.3'],
      ]
      for (const [path, version] of paths)
        expect((await scene.request(path, {}, { headers: { 'a2a-version': version } })).status, path).toBe(404)
    },
  },
  {
    id: 'VE-06',
    claim: 'a stream of an unknown version is refused in plain JSON',
    async run(scene, binding) {
      const headers = { 'a2a-version': '99.0' }
      const answer = await scene.call(binding, 'SendStreamingMessage', { message: aMessage('hello') }, { headers })
      expect([answer.error?.code, answer.headers.get('content-type')]).toEqual([-32009, 'application/json'])
    },
  },
  {
    id: 'VE-07',
    claim: 'a required extension must be named, once or more',
    async run(scene, binding) {
      const message = () => aMessage('hello')
      const base = '/needy'
      expect((await refused(scene, binding, 'SendMessage', { message: message() }, { base })).code).toBe(-32008)
      for (const named of [requiredExtension, `${requiredExtension}, urn:other ,${requiredExtension}`]) {
        const headers = { 'a2a-extensions': named }
        const answer = await scene.call(binding, 'SendMessage', { message: message() }, { base, headers })
        expect([answer.error, answer.headers.get('a2a-extensions')]).toEqual([undefined, requiredExtension])
      }
    },
  },
  {
    id: 'VE-08',
    claim: 'unknown extensions are ignored and not echoed',
    async run(scene, binding) {
      const headers = { 'a2a-extensions': 'urn:example:unknown' }
      const answer = await scene.call(binding, 'SendMessage', { message: aMessage('hello') }, { headers })
      expect([answer.error, answer.headers.get('a2a-extensions')]).toEqual([undefined, null])
    },
  },
  {
    id: 'VE-09',
    claim: 'an extension that is active is named in the answer, streams included',
    async run(scene, binding) {
      const headers = { 'a2a-extensions': 'urn:gw:a2a:resume:v0.1' }
      const answer = await scene.call(binding, 'ListTasks', {}, { headers })
      expect(answer.headers.get('a2a-extensions')).toBe('urn:gw:a2a:resume:v0.1')
      const stream = await scene.open(binding, 'SendStreamingMessage', { message: aMessage('hello') }, { headers })
      expect(stream.response.headers.get('a2a-extensions')).toBe('urn:gw:a2a:resume:v0.1')
      await stream.ended
    },
  },
]
