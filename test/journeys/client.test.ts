// `parley-gateway/client` against a real gateway: every request and every answer is held to the document.
import { afterEach, beforeEach, expect, expectTypeOf, test } from 'vitest'
import type * as z from 'zod'
import type { runRequestSchema } from '../../adapters/agui/wire.ts'
import { type AgentContext, defineAgent } from '../../src/agents/define-agent.ts'
import { createClient, type ParleyClient, ParleyError, type RunInput, type StreamedEvent } from '../../src/client.ts'
import { textOf } from '../../src/contract/index.ts'
import { type Api, startApi } from '../doubles/api.ts'
import { until } from '../doubles/background-gateway.ts'
import { type DocumentedFetch, documentedFetch } from '../doubles/documented-fetch.ts'
import { aRequest, owner, pauseTurn } from '../doubles/paused-turn.ts'
import { madeToken } from '../doubles/tokens.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

let working = 0
const agent = defineAgent({
  slug: 'demo',
  async run(message, context: AgentContext) {
    const said = textOf(message.parts)
    if (said === 'work') {
      working += 1
      await new Promise((resolve) => context.stop.addEventListener('abort', resolve))
    }
    if (said !== 'may I') return `heard: ${said}`
    const asked = await context.pause.approval({
      summary: 'send it',
      kind: 'send',
      apply_input: { to: 1 },
      preview: {},
      resume: () => ({}),
    })
    return asked.question
  },
  onSignal: ({ payload }) => `decided: ${String(payload['decision'])}`,
})

const hello = (runId: string, content = 'hello', threadId = 't1'): RunInput => ({
  threadId,
  runId,
  messages: [{ id: `m-${runId}`, role: 'user', content }],
})

describeOnDatabase('the client of the API', (database) => {
  let api: Api
  let documented: DocumentedFetch
  let ada: ParleyClient
  const clientFor = async (principal: string | null, scopes: ('run' | 'own')[] = ['run']) => {
    const { clear } = await madeToken(database(), { scopes, principal })
    return createClient({ url: 'http://gateway.test', token: () => clear, fetch: documented.fetch })
  }
  beforeEach(async () => {
    working = 0
    api = startApi(database(), [agent])
    documented = await documentedFetch((path, init) => api.request(path, init))
    ada = await clientFor('test:ada')
  })
  afterEach(() => api.stop())

  test('takes what the run route takes', () => {
    expectTypeOf<RunInput>().toExtend<
      Readonly<Omit<z.input<typeof runRequestSchema>, 'messages' | 'tools' | 'resume'>>
    >()
  })

  test('talks, reads back, uploads, and finds its own sessions and nobody else’s', async () => {
    const outcome = await ada.run(hello('r1'))
    expect(outcome).toMatchObject({
      kind: 'answered',
      answer: { status: 'completed', messages: [{ content: 'heard: hello' }] },
    })
    expect((await ada.history('t1')).messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
    expect((await ada.historyWithMetadata('t1', { limit: 1 })).messages).toMatchObject([{ content: 'heard: hello' }])
    const file = await ada.attachments.upload(new Blob(['a line'], { type: 'text/plain' }), {
      threadId: 't1',
      name: 'a.txt',
    })
    expect((await ada.attachments.signedUrl(file)).path).toBe(file.path)

    await ada.run(hello('r2', 'more', 't2'))
    const first = await ada.sessions.list({ limit: 1 })
    const second = await ada.sessions.list({ limit: 1, before: first.next ?? '' })
    expect([first.sessions, second.sessions].map((page) => page.length)).toEqual([1, 1])
    const [session] = second.sessions
    if (session === undefined) throw new Error('no session')
    expect(session).toMatchObject({ owner: 'test:ada', lines: 2, title: null })
    expect(await ada.sessions.setTitle(session.id, { title: '  Opening \n hours ' })).toEqual({
      ok: true,
      title: 'Opening hours',
    })
    expect((await ada.sessions.get(session.id)).session.title).toBe('Opening hours')

    const eve = await clientFor('test:eve')
    expect((await eve.sessions.list()).sessions).toEqual([])
    const attempts = [
      () => eve.sessions.get(session.id),
      () => eve.sessions.setTitle(session.id, { title: 'mine' }),
      () => eve.sessions.delete(session.id),
    ]
    for (const attempt of attempts) await expect(attempt()).rejects.toMatchObject({ status: 404, code: 'not_found' })
    const looking = await clientFor('test:ada', ['own'])
    expect((await looking.sessions.list()).sessions).toHaveLength(2)
    expect(await ada.sessions.delete(session.id)).toEqual({ ok: true })
    await expect(ada.sessions.get(session.id)).rejects.toMatchObject({ status: 404 })
  })

  test('hears a run event by event, and the same again when it asks again', async () => {
    const heard: StreamedEvent[] = []
    for await (const each of ada.stream(hello('r1'))) heard.push(each)
    expect(heard.map(({ event }) => event.type)).toEqual(expect.arrayContaining(['RUN_STARTED', 'RUN_FINISHED']))
    expect(JSON.stringify(heard)).toContain('heard: hello')
    const again: StreamedEvent[] = []
    for await (const each of ada.stream(hello('r1'))) again.push(each)
    expect(again).toEqual(heard)
  })

  test('decides about what its own runs wait for, and nobody else does', async () => {
    await ada.run(hello('r1', 'may I'))
    const { actions } = await ada.approvals.list({ status: 'pending' })
    const [action] = actions
    if (action === undefined) throw new Error('no action')
    const eve = await clientFor('test:eve')
    expect((await eve.approvals.list()).actions).toEqual([])
    await expect(eve.approvals.resolve(action.action_id, { decision: 'accepted' })).rejects.toMatchObject({
      status: 404,
    })
    expect((await ada.approvals.get(action.action_id)).action.summary).toBe('send it')
    const done = await ada.approvals.resolve(action.action_id, { decision: 'rejected', hash: action.hash })
    expect(done.action.status).toBe('rejected')
    expect((await ada.approvals.summary()).summary).toMatchObject({ rejected: 1 })
    await until(async () => JSON.stringify(await ada.history('t1')).includes('decided: rejected'))
    await expect(ada.approvals.delete(action.action_id)).rejects.toMatchObject({ status: 409 })
  })

  test('runs the tools that wait for it', async () => {
    // Nobody else may take the turn that is to pause.
    await api.stop()
    await pauseTurn(database(), { requests: [aRequest()] })
    api = startApi(database(), [agent])
    const alice = await clientFor(owner)
    const [request] = (await alice.toolRequests.list()).requests
    if (request === undefined) throw new Error('no request')
    await expect(ada.toolRequests.get(request.id)).rejects.toMatchObject({ status: 404 })
    expect((await alice.toolRequests.get(request.id)).request.id).toBe(request.id)
    expect((await alice.toolRequests.submit(request.request_id, { result: 7 })).duplicate).toBe(false)
    expect((await alice.toolRequests.cancel(request.id)).duplicate).toBe(true)
  })

  test('stops its own run, by the id it gave it', async () => {
    const eve = await clientFor('test:eve')
    const running = ada.run(hello('r1', 'work'))
    await until(() => working === 1)
    await expect(eve.cancelRun('r1')).rejects.toMatchObject({ status: 404 })
    expect(await ada.cancelRun('r1')).toMatchObject({ ok: true, outcome: 'stopping' })
    expect((await running).kind).toBe('answered')
    expect(await ada.cancelRun('r1')).toMatchObject({ ok: false, outcome: 'over' })
  })

  test('hands tasks over, and is told in the gateway’s words what is wrong', async () => {
    const result = await ada.tasks.run({ task: { id: 'a', instructions: 'hi' }, run_id: 'x' }, { waitSeconds: 20 })
    expect(result).toMatchObject({ status: 'succeeded', output: { text: 'heard: hi' } })
    expect((await ada.tasks.get('x')).run_id).toBe('x')
    expect((await ada.tasks.targets({ required_capabilities: ['tasks.run'] })).targets).toHaveLength(1)
    expect((await ada.tasks.cancel('x')).cancelled).toBe(false)
    const error = await ada.tasks.get('y').catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ParleyError)
    expect(error).toMatchObject({
      status: 404,
      code: 'agents_task_run_not_found',
      remedy: expect.stringContaining('run_id'),
    })
    expect(documented.used.size).toBeGreaterThan(3)
  })
})
