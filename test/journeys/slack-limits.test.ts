// Slack counts messages by channel, and a channel has many threads: what one of them used up the others wait for, and no other channel.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { slackChannel } from '../../adapters/slack/index.ts'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { nameStatement } from '../../src/db/client.ts'
import { bytesOf, message } from '../conformance/slack/slack-setup.ts'
import { type SlackApi, startSlackApi } from '../doubles/slack-api.ts'
import { createTestGateway, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { fixtures } from '../fixtures/slack/index.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const scopes = nameStatement(
  'test_scopes',
  `select scope from connection_limits where not_before > now() order by scope`,
)

describeOnDatabase('what Slack grants a channel', (database) => {
  let api: SlackApi
  let gateway: TestGateway
  beforeEach(async () => {
    api = await startSlackApi()
  })
  afterEach(async () => {
    gateway.stop()
    await api.close()
  })
  const start = (limits: object) => {
    const settings = { ...fixtures.settings(api.origin), signs: false, limits }
    const connection = { channel: 'slack', id: 'limits', access: { mode: 'public', allow: [] }, settings } as const
    const agents = [defineAgent({ slug: 'demo', run: () => 'an answer' })]
    gateway = createTestGateway(database(), { agents, connections: [connection] }, {}, [slackChannel])
    const [at] = gateway.gateway.connections
    let sent = 0
    return async (channel: string): Promise<void> => {
      if (at === undefined) throw new Error('no connection')
      sent += 1
      const ts = `${Math.floor(Date.now() / 1000)}.${String(sent).padStart(6, '0')}`
      const said = message({ channel, ts, event_ts: ts, text: '<@U0PARLEY1> hi' }, { event_id: `Ev${sent}` })
      const arrival = await fixtures.sign(bytesOf(said), { at: Date.now() })
      await gateway.gateway.receive(at, { ...arrival, receivedAt: new Date().toISOString() })
      await gateway.settle()
    }
  }
  const channels = () => api.posts.map(({ channel }) => channel)

  test('is shared by its threads', async () => {
    const say = start({ conversation: { count: 1, perMs: 60_000 } })
    for (const channel of ['C0GENERAL1', 'C0GENERAL1', 'C0OTHER001']) await say(channel)
    expect(channels()).toEqual(['C0GENERAL1', 'C0OTHER001'])
  })

  test('is waited for by all of them after a 429, beyond this process, and by no other channel (S78)', async () => {
    const say = start({ conversation: { count: 100, perMs: 1000 } })
    api.failNext('chat.postMessage', { kind: 'answer', status: 429, body: '', headers: { 'retry-after': '60' } })
    for (const channel of ['C0GENERAL1', 'C0GENERAL1', 'C0OTHER001']) await say(channel)
    await settleUntil(gateway, () => channels().length > 0)
    expect(channels()).toEqual(['C0OTHER001'])
    expect(await database().query(scopes, [])).toEqual([{ scope: 'T0PARLEY1/C0GENERAL1' }])
  })
})
