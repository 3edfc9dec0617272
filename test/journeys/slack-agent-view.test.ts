// The app's own view in Slack, through the whole gateway: opened, written to, stopped; and a reply that no sign can hurt.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { slackChannel } from '../../adapters/slack/index.ts'
import { type AgentDefinition, defineAgent } from '../../src/agents/define-agent.ts'
import { ada, bytesOf, envelope, message } from '../conformance/slack/slack-setup.ts'
import { until } from '../doubles/background-gateway.ts'
import { apiError, type SlackApi, startSlackApi } from '../doubles/slack-api.ts'
import { createTestGateway, type TestGateway } from '../doubles/test-gateway.ts'
import { fixtures } from '../fixtures/slack/index.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const starters = [{ title: 'Plan a trip', message: 'Plan a trip to Oslo' }]
const channel = 'D0ADA0001'

describeOnDatabase('the agent’s own view', (database) => {
  let api: SlackApi
  let gateway: TestGateway
  let deadline: AbortController
  let asked = 0
  beforeEach(async () => {
    api = await startSlackApi()
  })
  afterEach(async () => {
    deadline.abort()
    gateway.stop()
    expect(api.unexpected).toEqual([])
    await api.close()
  })

  const start = (run: AgentDefinition['run']) => {
    asked += 1
    const connection = {
      channel: 'slack',
      id: `view${asked}`,
      access: { mode: 'public', allow: [] },
      settings: { ...fixtures.settings(api.origin), signs: { done: 'white_check_mark' } },
    } as const
    const agents = [defineAgent({ slug: 'demo', run, starters })]
    const turns = { typingAfterMs: 10, liveAfterMs: 20 }
    gateway = createTestGateway(database(), { agents, connections: [connection], turns }, {}, [slackChannel])
    deadline = new AbortController()
    gateway.gateway.drain({ deadline: deadline.signal }).catch(() => {})
    const [at] = gateway.gateway.connections
    return async (payload: unknown): Promise<void> => {
      if (at === undefined) throw new Error('no connection')
      const arrival = await fixtures.sign(bytesOf(payload), { at: Date.now() })
      await gateway.gateway.receive(at, { ...arrival, receivedAt: new Date().toISOString() })
    }
  }
  const stamp = () => `${Math.floor(Date.now() / 1000)}.${String(asked).padStart(6, '0')}`
  const written = (ts: string, fields: object = {}) =>
    message({ channel, channel_type: 'im', ts, event_ts: ts, text: 'go on', app_context: {}, ...fields })

  test('offers what the agent can be asked when it is opened, and once for a redelivery', async () => {
    const send = start(() => 'done')
    const thread = { user_id: ada, channel_id: channel, thread_ts: stamp(), context: {} }
    const opened = envelope({ type: 'assistant_thread_started', assistant_thread: thread }, { event_id: `Ev${asked}` })
    await send(opened)
    await send(opened)
    await until(() => api.fields('assistant.threads.setSuggestedPrompts').length > 0)
    expect(api.fields('assistant.threads.setSuggestedPrompts').map(({ prompts }) => JSON.parse(prompts ?? ''))).toEqual(
      [starters],
    )
  })

  test('has a stop button that ends the run: no frame after it, and its session leaves processing (S86)', async () => {
    const send = start(async (_message, { show, stop }) => {
      show('working')
      for (let words = 0; !stop.aborted; words += 1) {
        await new Promise((resolve) => setTimeout(resolve, 10))
        show(` ${words}`)
      }
      throw stop.reason
    })
    const ts = stamp()
    await send(written(ts))
    await until(() => api.fields('agents.sessions.setStatus').length > 0 && api.methods().includes('chat.startStream'))
    const stopped = { type: 'agent_session_stopped', channel, user: ada, thread_ts: ts, streaming_message_ts: [] }
    await send(envelope({ ...stopped, event_ts: stamp() }, { event_id: `EvStop${asked}` }))
    await until(() => api.fields('agents.sessions.setStatus').at(-1)?.['status'] === 'active')
    await until(() => api.posts.some(({ text }) => text.includes('Stopped. Nothing more')))
    const last = api.methods().lastIndexOf('chat.appendStream')
    expect(api.methods().slice(last + 1)).toContain('chat.update')
    // Shown only where the reply was not seen to grow in time; then it is taken back.
    expect(api.fields('assistant.threads.setStatus').at(-1)?.['status'] ?? '').toBe('')
  })

  test('answers as ever where none of the signs is allowed', async () => {
    for (const method of [
      'reactions.add',
      'reactions.remove',
      'assistant.threads.setStatus',
      'agents.sessions.setStatus',
    ])
      api.failAlways(method, method.startsWith('reactions') ? { kind: 'hang' } : apiError('missing_scope'))
    const send = start(async () => {
      await until(() => api.methods().includes('assistant.threads.setStatus'))
      return 'an answer'
    })
    const ts = stamp()
    await send(written(ts))
    await send(message({ ts: `${ts}9`, event_ts: ts, text: '<@U0PARLEY1> hello' }, { event_id: `EvRoom${asked}` }))
    await until(() => api.posts.length === 2)
    expect(api.posts.map(({ text }) => text)).toEqual(['an answer', 'an answer'])
  })

  test('marks a message in a channel as seen, and as done when it is answered', async () => {
    const send = start(() => 'an answer')
    const ts = stamp()
    await send(message({ ts, event_ts: ts, text: '<@U0PARLEY1> hello' }, { event_id: `EvMark${asked}` }))
    await until(() => api.fields('reactions.remove').length > 0)
    expect(api.fields('reactions.add').map(({ name, timestamp }) => [name, timestamp])).toEqual([
      ['eyes', ts],
      ['white_check_mark', ts],
    ])
  })
})
