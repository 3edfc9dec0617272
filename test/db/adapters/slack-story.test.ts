// Slack through the whole gateway: a mention is answered once in its thread, whatever happens to the answer on its way.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { fixtures } from '../../../adapters/slack/fixtures.ts'
import { slackChannel } from '../../../adapters/slack/index.ts'
import { defineAgent } from '../../../src/agent/agent.ts'
import type { Database } from '../../../src/storage/database.ts'
import { ada, bot, bytesOf, message } from '../../conformance/slack/scene.ts'
import { type SlackApi, startSlackApi } from '../../doubles/slack-api.ts'
import { createTestGateway, settleUntil } from '../../doubles/test-gateway.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

describeOnDatabase('a mention on Slack', (database) => {
  let api: SlackApi
  beforeEach(async () => {
    api = await startSlackApi()
  })
  afterEach(async () => {
    expect(api.unexpected).toEqual([])
    await api.close()
  })
  let asked = 0

  test('is answered in its thread, and its two events once', async () => {
    const { gateway, send, ts } = open(database(), api, ++asked)
    const text = `<@${bot}> hello`
    await send(message({ text, ts, event_ts: ts }))
    await send(message({ text, ts, event_ts: ts, type: 'app_mention' }, { event_id: 'Ev2' }))
    await settleUntil(gateway, () => api.posts.length > 0)
    await gateway.settle()
    expect(api.posts.map(({ thread_ts, channel }) => ({ thread_ts, channel }))).toEqual([
      { thread_ts: ts, channel: 'C0GENERAL1' },
    ])
    expect(JSON.stringify(api.posts[0]?.blocks)).toContain('you said: hello')
  })

  test('whose answer arrived in spite of a 500 has one answer', async () => {
    const { gateway, send, ts } = open(database(), api, ++asked)
    const oops = { kind: 'answer', status: 500, body: 'oops', applied: true } as const
    api.failNext('chat.postMessage', oops)
    await send(message({ text: `<@${bot}> once`, ts, event_ts: ts }))
    await settleUntil(gateway, () => api.methods().includes('conversations.replies'))
    await gateway.settle()
    expect(api.posts).toHaveLength(1)
  })

  test('a click on a question that nobody asks any more is answered to the clicker alone', async () => {
    const { gateway, send, ts } = open(database(), api, ++asked)
    await send({
      type: 'block_actions',
      user: { id: ada, team_id: 'T0PARLEY1' },
      team: { id: 'T0PARLEY1' },
      channel: { id: 'C0GENERAL1' },
      container: { message_ts: ts, thread_ts: ts },
      actions: [{ action_id: 'approve', block_id: 'parley_approval', value: 'c0ffee', action_ts: ts }],
    })
    await settleUntil(gateway, () => api.ephemeral.length > 0)
    expect(api.ephemeral).toMatchObject([{ user: ada, channel: 'C0GENERAL1' }])
    expect(api.posts).toEqual([])
  })
})

function open(database: Database, api: SlackApi, number: number) {
  const agent = defineAgent({
    slug: 'demo',
    run: ({ parts }) => `you said: ${parts.map((part) => ('content' in part ? part.content : '')).join('')}`,
  })
  const connection = {
    channel: 'slack',
    id: `story${number}`,
    access: { mode: 'public', allow: [] },
    settings: fixtures.settings(api.origin),
  } as const
  const gateway = createTestGateway(database, { agents: [agent], connections: [connection] }, {}, [slackChannel])
  const [at] = gateway.gateway.connections
  const send = async (payload: unknown): Promise<void> => {
    if (at === undefined) throw new Error('no connection')
    const arrival = await fixtures.sign(bytesOf(payload), { at: Date.now() })
    await gateway.gateway.receive(at, { ...arrival, receivedAt: new Date().toISOString() })
  }
  return { gateway, send, ts: `${Math.floor(Date.now() / 1000)}.${String(number).padStart(6, '0')}` }
}
