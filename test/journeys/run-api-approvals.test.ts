// An approval over the run API, as README's curl asks for it: the question, the ways to answer it, and what comes of it.
import { afterEach, beforeEach, expect, test } from 'vitest'
import * as z from 'zod'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { demoAgent } from '../../src/agents/demo-agent.ts'
import { openAiCompatible } from '../../src/agents/models/openai-compatible.ts'
import { defineTool } from '../../src/agents/tools/define-tool.ts'
import { nameStatement } from '../../src/db/client.ts'
import { type Api, type ApiAnswer, startApi } from '../doubles/api.ts'
import { createDoor, until } from '../doubles/background-gateway.ts'
import { type ScriptedModelServer, startScriptedModel } from '../doubles/scripted-model-server.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const ordered = 'Ordered: two apples. (A demonstration: nothing was bought.)'
const loseLeases = nameStatement(
  'test_lose_leases',
  `update lanes set lease_until = now() - interval '1 second' where holder is not null`,
)

describeOnDatabase('an approval over the run API', (database) => {
  let api: Api
  let count = 0

  const say = (text: string, call: object = {}): Promise<ApiAnswer> => {
    count += 1
    return api.run(`r${count}`, { isHere: true, text, ...call })
  }
  const content = ({ body }: ApiAnswer): string => body.messages?.[0]?.content ?? JSON.stringify(body)
  const resume = (runId: string, ids: readonly string[], approved = true): Promise<ApiAnswer> => {
    const entries = ids.map((interruptId) => ({ interruptId, status: 'resolved', payload: { approved } }))
    return api.run(runId, { isHere: true, body: JSON.stringify({ threadId: 't1', runId, resume: entries }) })
  }
  const streamed = async (runId: string, fields: object): Promise<string> => {
    const response = await api.request(
      '/api/v1/agent/run',
      {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
        body: JSON.stringify({ threadId: 't1', runId, ...fields }),
      },
      { isHere: true },
    )
    return response.text()
  }
  const words = (text: string, id = 'm') => ({ messages: [{ id, role: 'user', content: text }] })

  beforeEach(() => {
    count = 0
    api = startApi(database(), [demoAgent])
  })
  afterEach(() => api.stop())

  test('a run that asks says in JSON what it waits for, as the stream does', async () => {
    const { status, body } = await say('/order two apples')
    expect(status).toBe(200)
    expect(body).toMatchObject({ status: 'input_required' })
    expect(body.interrupts).toEqual([
      {
        id: body.response.parts.find((part: { kind: string }) => part.kind === 'policy').policy.action_id,
        reason: 'confirmation',
        message: expect.stringContaining('/approve'),
        expiresAt: expect.any(String),
        responseSchema: expect.objectContaining({ required: ['approved'] }),
      },
    ])
    expect((await say('/help')).body.interrupts).toBeUndefined()
  })

  test.each([
    ['/approve', ordered],
    ['/approve CODE', ordered],
    ['/reject', 'All right, I did not order it.'],
    ['/reject CODE too dear', 'All right, I did not order it.'],
  ])('%s is answered with what came of it, again and again the same', async (command, result) => {
    const asked = await say('/order two apples')
    const text = command.replace('CODE', asked.body.interrupts[0].id.slice(-6))
    const decided = await api.run('d1', { isHere: true, text })
    expect(decided.body).toMatchObject({ runId: 'd1', status: 'completed' })
    expect(content(decided)).toBe(result)
    const again = await api.run('d1', { isHere: true, text })
    expect(again.body).toEqual(decided.body)
    expect(content(await say('/approve'))).toBe('Nothing waits for an approval here.')
  })

  test('resume needs no messages, and is answered with what came of it', async () => {
    const { body } = await say('/order two apples')
    const decided = await resume('d1', [body.interrupts[0].id])
    expect([decided.status, content(decided)]).toEqual([200, ordered])
    expect((await resume('d1', [body.interrupts[0].id])).body).toEqual(decided.body)
    const neither = await api.run('d2', { isHere: true, body: JSON.stringify({ threadId: 't1', runId: 'd2' }) })
    expect([neither.status, neither.body.code]).toEqual([400, 'messages_missing_or_empty'])
  })

  test.each([
    ['/help', 'Always:'],
    ['/status', '1 approval waits for a decision.'],
    ['/new', 'Started a new session.'],
    ['are you there?', 'You said: are you there?'],
  ])('%s is answered while a question is open, and the question stays open', async (text, answer) => {
    await say('/order two apples')
    expect(content(await say(text))).toContain(answer)
    expect(content(await say('/approve'))).toBe(ordered)
  })

  test('/stop withdraws the question', async () => {
    await say('/order two apples')
    expect(content(await say('/stop'))).toContain('What I was waiting for is withdrawn.')
    expect(content(await say('/approve'))).toBe('Nothing waits for an approval here.')
  })

  test('of two questions a code names one; without it nothing is decided', async () => {
    const [, pears] = [await say('/order two apples'), await say('/order pears')]
    expect(content(await say('/approve'))).toContain('Several things wait for an approval here. Which one?')
    expect(content(await say(`/approve ${pears.body.interrupts[0].id.slice(-6)}`))).toContain('Ordered: pears.')
    expect(content(await say('/approve'))).toBe(ordered)
  })

  test('one resume decides about two runs, and is told what came of both', async () => {
    const asked = [await say('/order two apples'), await say('/order pears')]
    const ids = asked.map(({ body }) => body.interrupts[0].id)
    const partial = await resume('d0', ids.slice(0, 1))
    expect([partial.status, partial.body.error.code]).toEqual([409, 'interrupts_not_all_decided'])
    expect(partial.body.interrupts.map(({ id }: { id: string }) => id).toSorted()).toEqual(ids.toSorted())
    const { body } = await resume('d1', ids)
    expect(body.messages.map((message: { content: string }) => message.content)).toEqual([
      ordered,
      expect.stringContaining('Ordered: pears.'),
    ])
  })

  test('a stream of /approve, and of resume, ends with the result and not with a promise of it', async () => {
    for (const round of ['one', 'two']) {
      const { body } = await say('/order two apples')
      const [{ id }] = body.interrupts
      const how =
        round === 'one' ? words('/approve', 'd1') : { resume: [{ interruptId: id, status: 'resolved', payload: true }] }
      const told = await streamed(`d-${round}`, how)
      expect(told).toContain('Ordered: two apples.')
      expect(told).not.toContain('I go on with it')
      expect(told).toContain('RUN_FINISHED')
      expect(await streamed(`d-${round}`, how)).toBe(told)
    }
  })

  test('a function that asks in words of its own is waited for like any other', async () => {
    await api.stop()
    const asking = defineAgent({
      slug: 'demo',
      run: async (_message, { pause }) =>
        `Let me see. ${(await pause.approval({ summary: 'pay 12 EUR', apply_input: { amount: 12 } })).question}`,
      onSignal: ({ payload }) => `It is ${String(payload['decision'])}.`,
    })
    api = startApi(database(), [asking])
    const told = await streamed('s1', { ...words('pay'), threadId: 't2' })
    expect(told).toContain('Let me see.')
    expect(told).toContain('"type":"interrupt"')
    const { body } = await say('pay')
    expect(body).toMatchObject({
      status: 'input_required',
      messages: [{ content: expect.stringMatching(/^Let me see/) }],
    })
    expect(body.interrupts).toMatchObject([{ reason: 'confirmation', message: expect.stringContaining('pay 12 EUR') }])
    const history = await api.request('/api/v1/agent/history?threadId=t1', {}, { isHere: true })
    const { messages } = (await history.json()) as { messages: { content: { policy?: object }[] }[] }
    expect(messages[1]?.content[0]?.policy).toMatchObject({ action_id: body.interrupts[0].id, state: 'pending' })
    const decided = await resume('d1', [body.interrupts[0].id])
    expect([decided.body.status, content(decided)]).toEqual(['completed', 'It is accepted.'])
  })

  test('the stream of the run that asks can be taken up again while its question is open', async () => {
    await api.stop()
    const asking = defineAgent({
      slug: 'demo',
      run: async (_message, { pause }) =>
        (await pause.approval({ summary: 'pay 12 EUR', apply_input: { amount: 12 } })).question,
    })
    api = startApi(database(), [asking])
    const first = await streamed('s1', { ...words('pay'), threadId: 't2' })
    expect(first).toContain('/approve')
    expect(await streamed('s1', { ...words('pay'), threadId: 't2' })).toBe(first)
  })

  test('a stream of plain words says what is open and how to answer it, as its protocol wants; commands are taken', async () => {
    const { body } = await say('/order two apples')
    const code = body.interrupts[0].id.slice(-6)
    const refused = await streamed('s1', words('are you there?'))
    expect(refused).toContain('interrupts_pending')
    expect(refused).toContain(`order two apples`)
    expect(refused).toContain(`/approve ${code}`)
    expect(await streamed('s2', words('/status'))).toContain('1 approval waits')
  })

  test('a guest on this machine orders and approves with the id of the thread alone', async () => {
    await api.stop()
    api = startApi(database(), [demoAgent], 30_000, {}, {}, { sourceOf: () => 'guest' })
    await say('/order two apples')
    expect(content(await say('/approve', { threadId: 'elsewhere' }))).toBe('Nothing waits for an approval here.')
    expect(content(await say('/approve'))).toBe(ordered)
  })
})

describeOnDatabase('a process that dies between the decision and its result', (database) => {
  let model: ScriptedModelServer
  const apis: Api[] = []
  let paid = 0

  const start = (): Api => {
    const pay = defineTool({
      name: 'bank/pay',
      description: 'Pays.',
      parameters: z.object({ amount: z.number() }),
      action_policy: 'preview',
      execute: async ({ amount }) => {
        paid += 1
        return { paid: amount }
      },
    })
    const clerk = defineAgent({
      slug: 'demo',
      instructions: 'You are a clerk.',
      model: openAiCompatible({ baseUrl: model.baseUrl, model: 'scripted' }),
      tools: [pay],
    })
    const api = startApi(database(), [clerk], 5_000)
    apis.push(api)
    return api
  }

  beforeEach(async () => {
    model = await startScriptedModel()
    paid = 0
  })
  afterEach(async () => {
    for (const api of apis.splice(0)) await api.stop()
    await model.close()
  })

  test.each(['/approve', 'resume'])(
    '%s again under the same runId is answered with the result; the tool ran once',
    async (how) => {
      const first = start()
      const door = createDoor()
      // After the tool has run the model says nothing any more: the result is in the journal, and nowhere else.
      model.script(
        { calls: [{ id: 'c1', name: 'bank__pay', arguments: '{"amount":7}' }] },
        { text: 'Too late.', thinks: () => door.passed },
      )
      const asked = await first.run('r1', { isHere: true, text: 'pay' })
      const entry = { interruptId: asked.body.interrupts[0].id, status: 'resolved', payload: { approved: true } }
      const said = how === 'resume' ? { resume: [entry] } : { messages: [{ id: 'd1', role: 'user', content: how }] }
      const body = JSON.stringify({ threadId: 't1', runId: 'd1', ...said })
      const lost = first.run('d1', { isHere: true, body })
      await until(() => model.requests.length === 2)
      model.script({ text: 'It is paid.' })
      await database().query(loseLeases, [])
      const second = start()
      const { body: answer } = await second.run('d1', { isHere: true, body })
      expect(answer.messages).toEqual([{ role: 'assistant', content: 'It is paid.' }])
      expect((await lost).body.messages).toEqual(answer.messages)
      expect(paid).toBe(1)
      door.open()
    },
  )
})
