// Streams.
import { expect } from 'vitest'
import { aMessage, type Binding, type Body, type Stream } from '../../doubles/a2a-peer.ts'
import { until } from '../../doubles/background-gateway.ts'
import { type A2aCase, refused, type Scene, sent } from './a2a-setup.ts'

const kinds = ({ frames }: Stream): readonly string[] =>
  frames.map(({ body }) => {
    if (body.statusUpdate !== undefined) return body.statusUpdate.status.state.replace('TASK_STATE_', '').toLowerCase()
    return Object.keys(body)[0] ?? ''
  })

const said = ({ frames }: Stream): string =>
  frames.reduce((text, { body }) => {
    const update = body.artifactUpdate
    if (update === undefined) return text
    const more = update.artifact.parts.map((part: Body) => part.text ?? '').join('')
    return update.append ? text + more : more
  }, '')

const open = (scene: Scene, binding: Binding, text: string, more: Body = {}, how: Parameters<Scene['open']>[3] = {}) =>
  scene.open(binding, 'SendStreamingMessage', { message: aMessage(text, more) }, how)

async function waiting(scene: Scene, binding: Binding): Promise<string> {
  const task = await sent(scene, binding, aMessage('wait'), { configuration: { returnImmediately: true } })
  await until(() => scene.main.running() === 1)
  return task.id
}

const released = async (scene: Scene): Promise<void> => {
  scene.main.release()
  await until(() => scene.main.running() === 0)
}

export const streamCases: readonly A2aCase[] = [
  {
    id: 'ST-01',
    claim: 'a stream begins with the task, tells what happens and ends with it',
    async run(scene, binding) {
      const stream = await open(scene, binding, 'hello')
      expect(stream.response.headers.get('content-type')).toBe('text/event-stream')
      await stream.ended
      expect(kinds(stream)).toEqual(['task', 'working', 'artifactUpdate', 'completed'])
      expect(said(stream)).toBe('demo heard: hello (0 before)')
    },
  },
  {
    id: 'ST-02',
    claim: 'where answers may be mere messages, one is one frame, and a task is still a task',
    async run(scene, binding) {
      const direct = await open(scene, binding, 'direct', {}, { base: '/direct' })
      await direct.ended
      expect(direct.frames.map(({ body }) => body)).toMatchObject([
        { message: { parts: [{ text: 'Just a message.' }] } },
      ])
      const task = await open(scene, binding, 'hello', {}, { base: '/direct' })
      await task.ended
      expect(kinds(task)).toEqual(['task', 'working', 'artifactUpdate', 'completed'])
    },
  },
  {
    id: 'ST-03',
    claim: 'words come as they grow, and stand joined in the task',
    async run(scene, binding) {
      const stream = await open(scene, binding, 'say one two three')
      await stream.ended
      const updates = stream.frames.flatMap(({ body }) => body.artifactUpdate ?? [])
      expect(updates.length).toBeGreaterThan(2)
      expect(updates.map(({ append }) => append)).toEqual(updates.map((_, index) => index > 0))
      expect(updates.map(({ lastChunk }) => lastChunk)).toEqual(updates.map((_, index) => index === updates.length - 1))
      expect(said(stream)).toBe('one two three ')
      const { id } = stream.frames[0]?.body.task ?? {}
      const { result } = await scene.call(binding, 'GetTask', { id })
      expect(result.artifacts).toEqual([
        { artifactId: updates[0].artifact.artifactId, parts: [{ text: 'one two three ' }] },
      ])
    },
  },
  {
    id: 'ST-04',
    claim: 'a frame is the whole envelope with the request’s id, or the bare response',
    async run(scene, binding) {
      const stream = await open(scene, binding, 'hello')
      await stream.ended
      for (const { data } of stream.frames) {
        if (binding === 'JSONRPC') expect(data).toMatchObject({ jsonrpc: '2.0', id: 'r1', result: {} })
        else expect(Object.keys(data)).toHaveLength(1)
      }
    },
  },
  {
    id: 'ST-05',
    claim: 'what is wrong before the first event is told in plain JSON',
    async run(scene, binding) {
      const { status, headers, error } = await scene.call(binding, 'SendStreamingMessage', {
        message: aMessage('x', { parts: [] }),
      })
      expect([status, headers.get('content-type'), error?.code]).toEqual([
        binding === 'JSONRPC' ? 200 : 400,
        'application/json',
        -32602,
      ])
    },
  },
  {
    id: 'ST-07',
    claim: 'where there are no streams, streaming is refused',
    async run(scene, binding) {
      const { id } = await sent(scene, binding, aMessage('ask'), { base: '/bare' })
      const stream = { message: aMessage('hello') }
      expect((await refused(scene, binding, 'SendStreamingMessage', stream, { base: '/bare' })).code).toBe(-32004)
      expect((await refused(scene, binding, 'SubscribeToTask', { id }, { base: '/bare' })).code).toBe(-32004)
    },
  },
  {
    id: 'ST-08',
    claim: 'a task that goes on is streamed from where it stood',
    async run(scene, binding) {
      const { id } = await sent(scene, binding, aMessage('ask'))
      const stream = await open(scene, binding, 'blue', { taskId: id })
      await stream.ended
      expect(kinds(stream)).toEqual(['task', 'working', 'artifactUpdate', 'completed'])
      const [first] = stream.frames
      expect(first?.body.task).toMatchObject({ id, artifacts: [] })
      expect(first?.body.task.history.map(({ parts }: Body) => parts[0].text)).toEqual(['ask', 'Which colour?', 'blue'])
    },
  },
  {
    id: 'ST-09',
    claim: 'a question ends the stream of its turn, and not the one of who subscribed',
    async run(scene, binding) {
      const id = await waiting(scene, binding)
      const subscribed = await scene.open(binding, 'SubscribeToTask', { id })
      await released(scene)
      await subscribed.ended
      const asked = await open(scene, binding, 'ask')
      await asked.ended
      expect(kinds(asked)).toEqual(['task', 'working', 'input_required'])
      const again = await scene.open(binding, 'SubscribeToTask', { id: asked.frames[0]?.body.task.id })
      await sent(scene, binding, aMessage('blue', { taskId: asked.frames[0]?.body.task.id }))
      await again.ended
      expect(kinds(again).at(0)).toBe('task')
      expect(kinds(again).slice(-2)).toEqual(['artifactUpdate', 'completed'])
    },
  },
  {
    id: 'ST-10',
    claim: 'a stream stays open while somebody logs in elsewhere',
    async run(scene, binding) {
      const stream = await open(scene, binding, 'login')
      await until(() => kinds(stream).includes('auth_required'))
      const { task } = stream.frames[0]?.body ?? {}
      const status = stream.frames.at(-1)?.body.statusUpdate.status
      expect(status.message).toMatchObject({
        parts: [{ text: 'Log in.' }],
        metadata: { mentionable: { policy: { kind: 'unauthorized', message: 'Log in.' } } },
      })
      await sent(scene, binding, aMessage('done', { taskId: task.id }))
      await stream.ended
      expect(kinds(stream).slice(-1)).toEqual(['completed'])
    },
  },
  {
    id: 'ST-11',
    claim: 'nobody subscribes to what is not there, not theirs or over',
    async run(scene, binding) {
      const done = await sent(scene, binding, aMessage('hello'))
      const foreign = await sent(scene, binding, aMessage('ask'), { token: await scene.token() })
      const ask = async (id: string) => (await refused(scene, binding, 'SubscribeToTask', { id })).code
      expect([await ask(crypto.randomUUID()), await ask(foreign.id), await ask(done.id)]).toEqual([
        -32001, -32001, -32004,
      ])
    },
  },
  {
    id: 'ST-12',
    claim: 'who subscribes sees the whole task first',
    async run(scene, binding) {
      const id = await waiting(scene, binding)
      const stream = await scene.open(binding, 'SubscribeToTask', { id })
      await until(() => stream.frames.length > 0)
      expect(stream.frames[0]?.body.task).toMatchObject({
        id,
        status: { state: 'TASK_STATE_WORKING' },
        history: [{ parts: [{ text: 'wait' }] }],
        artifacts: [],
      })
      await released(scene)
      await stream.ended
    },
  },
  {
    id: 'ST-13',
    claim: 'two who watch see the same, byte by byte',
    async run(scene, binding) {
      const id = await waiting(scene, binding)
      const both = await Promise.all([1, 2].map(() => scene.open(binding, 'SubscribeToTask', { id })))
      await until(() => both.every(({ frames }) => frames.length > 0))
      await released(scene)
      await Promise.all(both.map(({ ended }) => ended))
      const [one, other] = both.map(({ frames }) => JSON.stringify(frames))
      expect(one).toBe(other)
      expect(kinds(both[0] as Stream)).toEqual(['task', 'artifactUpdate', 'completed'])
    },
  },
  {
    id: 'ST-14',
    claim: 'one who leaves changes nothing for the other, nor for the run',
    async run(scene, binding) {
      const id = await waiting(scene, binding)
      const [stays, leaves] = await Promise.all([1, 2].map(() => scene.open(binding, 'SubscribeToTask', { id })))
      await until(() => leaves?.frames.length === 1)
      await leaves?.hangUp()
      await released(scene)
      await stays?.ended
      expect(kinds(stays as Stream).at(-1)).toBe('completed')
      expect(scene.gateway.logged.filter(({ event }) => event === 'request_crashed')).toEqual([])
    },
  },
  {
    id: 'ST-15',
    claim: 'who asked may leave: what happens is stored and seen by whoever asks',
    async run(scene, binding) {
      const stream = await open(scene, binding, 'wait')
      await until(() => stream.frames.length > 0 && scene.main.running() === 1)
      await stream.hangUp()
      await released(scene)
      const id = stream.frames[0]?.body.task.id
      await until(async () => {
        const { result } = await scene.call(binding, 'GetTask', { id })
        return result.status.state === 'TASK_STATE_COMPLETED' && result.artifacts.length === 1
      })
    },
  },
  {
    id: 'ST-16',
    claim: 'who names the last event they saw goes on behind it, without a gap and without a repetition',
    async run(scene, binding) {
      const message = aMessage('say a b c d')
      const whole = await scene.open(binding, 'SendStreamingMessage', { message })
      await until(() => said(whole).startsWith('a b'))
      const seen = whole.frames.length - 1
      const last = whole.frames[seen]?.id ?? ''
      const id = whole.frames[0]?.body.task.id
      const headers = { 'last-event-id': last }
      const subscribed = await scene.open(binding, 'SubscribeToTask', { id }, { headers })
      await Promise.all([whole.ended, subscribed.ended])
      const rest = (stream: Stream, from: number) => stream.frames.slice(from).map(({ body }) => body)
      expect(rest(subscribed, 1)).toEqual(rest(whole, seen + 1))
      const repeated = await scene.open(binding, 'SendStreamingMessage', { message }, { headers })
      await repeated.ended
      expect(rest(repeated, 1)).toEqual(rest(whole, seen + 1))
      const before = rest(whole, 0).slice(0, seen + 1)
      const shown = repeated.frames[0]?.body.task
      expect(shown.artifacts[0].parts[0].text + said({ ...repeated, frames: repeated.frames.slice(1) } as Stream)).toBe(
        'a b c d ',
      )
      expect(shown.status.state).toBe('TASK_STATE_WORKING')
      expect(before.length).toBe(seen + 1)
    },
  },
  {
    id: 'ST-18',
    claim: 'silence is broken by comments, and a stream ends politely when it has lived long enough',
    async run(scene, binding) {
      const task = await sent(scene, binding, aMessage('wait'), { base: '/hasty' })
      const headers = { 'content-type': 'application/json' }
      const rpc = { jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id: task.id } }
      const response =
        binding === 'JSONRPC'
          ? await scene.request('/hasty', { method: 'POST', headers, body: JSON.stringify(rpc) })
          : await scene.request(`/hasty/tasks/${task.id}:subscribe`)
      const text = await response.text()
      expect(text.split(': still here\n\n').length).toBeGreaterThan(3)
      expect(text.match(/^data: /gm)).toHaveLength(1)
      await released(scene)
    },
  },
  {
    id: 'ST-19',
    claim: 'nothing is fetched for a reader who does not read',
    async run(scene, binding) {
      const stream = await scene.request(
        binding === 'JSONRPC' ? '/a2a' : '/a2a/message:stream',
        binding === 'JSONRPC'
          ? {
              method: 'POST',
              headers: { 'content-type': 'application/json' },
              body: JSON.stringify({
                jsonrpc: '2.0',
                id: 1,
                method: 'SendStreamingMessage',
                params: { message: aMessage('say x y z') },
              }),
            }
          : {
              method: 'POST',
              headers: { 'content-type': 'application/json' },
              body: JSON.stringify({ message: aMessage('say x y z') }),
            },
      )
      await until(() => scene.main.running() === 1)
      await until(() => scene.main.running() === 0)
      const reader = stream.body?.getReader()
      const first = await reader?.read()
      expect(new TextDecoder().decode(first?.value)).toContain('"task"')
      await reader?.cancel()
    },
  },
  {
    id: 'ST-20',
    claim: 'a task is subscribed to by GET and by POST',
    isOnce: true,
    async run(scene) {
      const id = await waiting(scene, 'HTTP+JSON')
      const init = { headers: { 'content-type': 'application/json' } }
      const streams = await Promise.all(
        [init, { ...init, method: 'POST', body: '{}' }, { method: 'POST' }].map((each) =>
          scene.request(`/a2a/tasks/${id}:subscribe`, each),
        ),
      )
      for (const stream of streams) expect(stream.headers.get('content-type')).toBe('text/event-stream')
      await released(scene)
      for (const stream of streams) expect(await stream.text()).toContain('TASK_STATE_COMPLETED')
    },
  },
  {
    id: 'ST-21',
    claim: 'states never go back',
    async run(scene, binding) {
      for (const text of ['hello', 'say a b', 'throw', 'refuse']) {
        const stream = await open(scene, binding, text)
        await stream.ended
        const order = ['working', 'completed', 'failed', 'rejected']
        const states = kinds(stream).filter((kind) => order.includes(kind))
        expect(states, text).toEqual([...new Set(states)].toSorted((a, b) => order.indexOf(a) - order.indexOf(b)))
      }
    },
  },
]
