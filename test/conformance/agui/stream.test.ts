// The AG-UI streams, through the whole gateway: what a client is shown, in which order, and what it can go on with.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import { nameStatement } from '../../../src/db/client.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { type Frame, framesIn, type Scene, startScene, stream, textIn, typesOf } from './agui-setup.ts'

const outdate = nameStatement('test_outdate', `update pending_actions set expires_at = now() - interval '1 s'`)
const payment = { id: 'call-1', name: 'bank__pay', arguments: '{"amount":7}' }
const glance = { id: 'call-2', name: 'bank__look', arguments: '{}' }

describeOnDatabase('an AG-UI stream', (database) => {
  let scene: Scene
  beforeEach(async () => {
    scene = await startScene(database())
  })
  afterEach(() => scene.stop())

  const asked = async (threadId: string, runId: string) => {
    scene.model.script({ text: 'One moment.', calls: [payment] }, { text: 'It is paid.' })
    const { frames } = await stream(scene, { threadId, runId })
    const interrupt = interruptsIn(frames)[0]
    if (interrupt === undefined) throw new Error(`no interrupt in ${typesOf(frames).join(' ')}`)
    return { frames, interrupt }
  }
  const decision = (id: string, approved: boolean) => ({
    messages: [],
    resume: [{ interruptId: id, status: 'resolved', payload: { approved } }],
  })

  test('AG-12 begins with the run that was asked for, and ends with it', async () => {
    scene.model.script({ text: 'Good morning to you.' })
    const { status, frames } = await stream(scene, { threadId: 't1', runId: 'r1' })
    expect(status).toBe(200)
    expect(frames[0]?.event).toEqual({ type: 'RUN_STARTED', threadId: 't1', runId: 'r1', protocolVersion: '1.0' })
    expect(textIn(frames)).toBe('Good morning to you.')
    expect(frames.at(-1)?.event).toEqual({
      type: 'RUN_FINISHED',
      threadId: 't1',
      runId: 'r1',
      outcome: { type: 'success' },
    })
  })

  test('AG-09 shows the same run again to whoever asks for it again, and runs nothing twice', async () => {
    scene.model.script({ text: 'Once.' })
    const first = await stream(scene, { threadId: 't1', runId: 'r1' })
    const again = await stream(scene, { threadId: 't1', runId: 'r1' })
    expect(again.frames).toEqual(first.frames)
    expect(scene.model.requests).toHaveLength(1)
  })

  test('AG-10 refuses another body under a run id that was used', async () => {
    scene.model.script({ text: 'Once.' })
    await stream(scene, { threadId: 't1', runId: 'r1' })
    const other = await stream(scene, {
      threadId: 't1',
      runId: 'r1',
      messages: [{ id: 'm', role: 'user', content: 'x' }],
    })
    expect(other.status).toBe(409)
  })

  test('AG-13 closes a message before a tool is called, and opens another one after it', async () => {
    scene.model.script({ text: 'Let me look.', calls: [glance] }, { text: 'Twelve.' })
    const { frames } = await stream(scene, { threadId: 't1', runId: 'r1' })
    expect(typesOf(frames).filter((type) => type !== 'TEXT_MESSAGE_CONTENT')).toEqual([
      'RUN_STARTED',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_END',
      'TOOL_CALL_START',
      'TOOL_CALL_ARGS',
      'TOOL_CALL_END',
      'TOOL_CALL_RESULT',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_END',
      'RUN_FINISHED',
    ])
    const started = frames.filter(({ event }) => event.type === 'TEXT_MESSAGE_START')
    expect(new Set(started.map(({ event }) => event['messageId'])).size).toBe(2)
  })

  test('AG-14 ends with an error when the run fails, with nothing after it and nothing of the cause in it', async () => {
    scene.model.script({ status: 400, body: '{"error":{"message":"canary-cause"}}' })
    const { frames } = await stream(scene, { threadId: 't1', runId: 'r1' })
    expect(frames.at(-1)?.event.type).toBe('RUN_ERROR')
    expect(JSON.stringify(frames)).not.toContain('canary-cause')
  })

  test('AG-15 ends with an interrupt for every decision that is waited for, after a snapshot', async () => {
    const { frames, interrupt } = await asked('t1', 'r1')
    expect(typesOf(frames).at(-2)).toBe('STATE_SNAPSHOT')
    expect(interrupt).toMatchObject({ reason: 'confirmation', responseSchema: { required: ['approved'] } })
    expect(scene.paid).toEqual([])
  })

  test('a decision goes on with the run, carries it out once, and is told its end', async () => {
    const { interrupt } = await asked('t1', 'r1')
    const { frames } = await stream(scene, { threadId: 't1', runId: 'r2', ...decision(interrupt.id, true) })
    expect(frames[0]?.event).toMatchObject({ type: 'RUN_STARTED', runId: 'r2' })
    expect(textIn(frames)).toContain('It is paid.')
    expect(frames.at(-1)?.event).toMatchObject({ type: 'RUN_FINISHED', runId: 'r2' })
    expect(scene.paid).toEqual([7])
  })

  test('AG-18 does nothing a second time when a decision is sent again', async () => {
    const { interrupt } = await asked('t1', 'r1')
    const first = await stream(scene, { threadId: 't1', runId: 'r2', ...decision(interrupt.id, true) })
    const again = await stream(scene, { threadId: 't1', runId: 'r2', ...decision(interrupt.id, true) })
    expect(textIn(again.frames)).toBe(textIn(first.frames))
    await stream(scene, { threadId: 't1', runId: 'r3', ...decision(interrupt.id, true) })
    expect(scene.paid).toEqual([7])
  })

  test('a no is told to the model, and nothing is carried out', async () => {
    const { interrupt } = await asked('t1', 'r1')
    scene.model.script({ text: 'Then not.' })
    const { frames } = await stream(scene, { threadId: 't1', runId: 'r2', ...decision(interrupt.id, false) })
    expect(textIn(frames)).toContain('Then not.')
    expect(scene.paid).toEqual([])
  })

  test('AG-16 begins nothing else while a decision is waited for', async () => {
    await asked('t1', 'r1')
    const { frames } = await stream(scene, { threadId: 't1', runId: 'r2' })
    expect(frames.map(({ event }) => event['code'] ?? event.type)).toEqual(['RUN_STARTED', 'interrupts_pending'])
    scene.model.script({ text: 'Elsewhere.' })
    expect(textIn((await stream(scene, { threadId: 't2', runId: 'r3' })).frames)).toBe('Elsewhere.')
  })

  test('AG-17 takes no decision about something that does not wait here', async () => {
    await asked('t1', 'r1')
    const { frames } = await stream(scene, { threadId: 't1', runId: 'r2', ...decision('another', true) })
    expect(frames.at(-1)?.event).toMatchObject({ type: 'RUN_ERROR', code: 'interrupt_unknown' })
    expect(scene.paid).toEqual([])
  })

  test('AG-19 carries nothing out that was decided too late', async () => {
    const { interrupt } = await asked('t1', 'r1')
    await database().query(outdate, [])
    const { frames } = await stream(scene, { threadId: 't1', runId: 'r2', ...decision(interrupt.id, true) })
    expect(typesOf(frames).at(-1)).toMatch(/RUN_(?:ERROR|FINISHED)/)
    expect(scene.paid).toEqual([])
  })

  test('AG-28 refuses a decision that is none', async () => {
    const { interrupt } = await asked('t1', 'r1')
    const resume = [{ interruptId: interrupt.id, status: 'denied' }]
    expect((await stream(scene, { threadId: 't1', runId: 'r2', messages: [], resume })).status).toBe(400)
  })

  test('goes on behind the last number that was seen', async () => {
    scene.model.script({ text: 'Let me look.', calls: [glance] }, { text: 'Twelve.' })
    const { frames } = await stream(scene, { threadId: 't1', runId: 'r1' })
    const at = frames.findIndex(({ event }) => event.type === 'TOOL_CALL_END')
    const seen = frames[at]?.id ?? ''
    const rest = await stream(scene, { threadId: 't1', runId: 'r1' }, { 'last-event-id': seen })
    expect(rest.frames.slice(1)).toEqual(frames.slice(at + 1))
  })

  test('AG-25 tells a client from before versions nothing it does not know', async () => {
    scene.model.script({ text: 'Hello.' })
    const { frames } = await stream(scene, { threadId: 't1', runId: 'r1', protocolVersion: undefined })
    expect(frames[0]?.event).toEqual({ type: 'RUN_STARTED', threadId: 't1', runId: 'r1' })
    expect(frames.at(-1)?.event).toEqual({ type: 'RUN_FINISHED', threadId: 't1', runId: 'r1' })
  })

  test('AG-21 leaves out what says nothing', async () => {
    const { frames } = await asked('t1', 'r1')
    expect(JSON.stringify(frames.map(({ event }) => event))).not.toContain('null')
  })
})

describeOnDatabase('an AG-UI stream of a function', (database) => {
  let scene: Scene | undefined
  afterEach(async () => {
    await scene?.stop()
  })

  test('takes back the words of a try that broke off', async () => {
    let tries = 0
    const agent = defineAgent({
      slug: 'demo',
      async run(_message, { show }) {
        tries += 1
        show(tries === 1 ? 'Wrong words' : 'Right words')
        await new Promise((resolve) => setTimeout(resolve, 250))
        if (tries === 1) throw new Error('broken off')
        return 'Right words'
      },
    })
    scene = await startScene(database(), [agent])
    const { frames } = await stream(scene, { threadId: 't1', runId: 'r1' })
    const cut = typesOf(frames).indexOf('MESSAGES_SNAPSHOT')
    expect(textIn(frames.slice(0, cut))).toBe('Wrong words')
    expect(frames[cut]?.event['messages']).toMatchObject([{ role: 'user', content: 'hello' }])
    expect(textIn(frames.slice(cut))).toBe('Right words')
  })

  test('AG-20 and AG-26: a client that goes away stops nothing; a stopped run is told as cancelled', async () => {
    const agent = defineAgent({
      slug: 'demo',
      run: (_message, { show, stop }) => {
        show('Working')
        return new Promise((_resolve, reject) => stop.addEventListener('abort', () => reject(stop.reason)))
      },
    })
    scene = await startScene(database(), [agent])
    const { api } = scene
    const leaving = await api.request(
      '/api/v1/agent/run',
      {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
        body: JSON.stringify({
          threadId: 't1',
          runId: 'r1',
          protocolVersion: '1.0',
          messages: [{ id: 'm-r1', role: 'user', content: 'hello' }],
        }),
      },
      { isHere: true },
    )
    const reader = leaving.body?.getReader()
    expect(framesIn(new TextDecoder().decode((await reader?.read())?.value))[0]?.event.type).toBe('RUN_STARTED')
    await reader?.cancel()
    const watching = stream(scene, { threadId: 't1', runId: 'r1' })
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect((await api.operate('POST', '/admin/runs/r1/cancel')).body.outcome).toBe('stopping')
    expect((await watching).frames.at(-1)?.event).toMatchObject({
      type: 'RUN_FINISHED',
      outcome: { type: 'cancelled' },
    })
  })
})

type Interrupt = { readonly id: string; readonly reason: string }

function interruptsIn(frames: readonly Frame[]): readonly Interrupt[] {
  const outcome = frames.at(-1)?.event['outcome'] as { readonly interrupts?: readonly Interrupt[] } | undefined
  return outcome?.interrupts ?? []
}
