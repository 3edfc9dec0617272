// The reply policy with Slack's own events: a channel's main line, a thread, an edit and a deletion; two workspaces of one app whose
// channels have the same name.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { slackChannel } from '../../adapters/slack/index.ts'
import { defineAgent } from '../../src/agents/define-agent.ts'
import type { ReplyPolicySettings } from '../../src/contract/channel.ts'
import { type ChannelDefinition, textOf } from '../../src/contract/index.ts'
import { tablesWith } from '../doubles/find-text-in-database.ts'
import { memoryInstallations } from '../doubles/memory-installations.ts'
import { installed, installSettings, messageEvent, signed, signingSecret, stamp } from '../doubles/slack-tenants.ts'
import { type SlackWorkspaces, startSlackWorkspaces } from '../doubles/slack-workspaces.ts'
import { createTestGateway, type TestGateway } from '../doubles/test-gateway.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const general = { channel: 'C0GENERAL1', channel_type: 'channel' }

describeOnDatabase('reply policy on Slack', (database) => {
  let slack: SlackWorkspaces
  let gateway: TestGateway
  let around: readonly string[]
  let runs: number
  let next = 1
  beforeEach(async () => {
    slack = await startSlackWorkspaces()
    runs = 0
  })
  afterEach(async () => {
    gateway.stop()
    await slack.close()
  })

  const start = (replyPolicy: ReplyPolicySettings = {}, more: object = {}) => {
    const agent = defineAgent({
      slug: 'demo',
      run(message) {
        runs += 1
        around = (message.history ?? []).filter((turn) => turn.ambient === true).map(({ parts }) => textOf(parts))
        return 'seen'
      },
    })
    const installations = memoryInstallations(installed('T0ONE'), installed('T0TWO'))
    const channel: ChannelDefinition = {
      ...slackChannel,
      create: (settings, deps) => slackChannel.create(settings, { ...deps, installations }),
    }
    const limits = { conversation: { count: 100_000, perMs: 1000 } }
    const settings = { install: installSettings, signingSecret, apiUrl: slack.apiUrl, limits, ...more }
    const access = { mode: 'public', allow: [] } as const
    const connections = [{ channel: 'slack', id: 'default', access, replyPolicy, settings }]
    gateway = createTestGateway(database(), { agents: [agent], connections }, {}, [channel])
  }
  const say = async (text: string, fields: object = {}, team = 'T0ONE') => {
    const [at] = gateway.gateway.connections
    if (at === undefined) throw new Error('no connection')
    const ts = stamp(next++)
    const event = messageEvent(team, { ...general, user: 'U0BOB0001', text, ts, event_ts: ts, ...fields })
    expect(await gateway.gateway.receive(at, signed(event))).toMatchObject({ kind: 'stored' })
    await gateway.settle()
    return ts
  }
  const ask = async (fields: object = {}, team = 'T0ONE') => {
    await say('<@U0BOT> well?', { type: 'app_mention', user: 'U0ADA0001', ...fields }, team)
    return around
  }

  test('a mention in a channel comes with what was said in it, not with its threads nor another workspace', async () => {
    start()
    const root = await say('let us paint it blue')
    await say('in the thread', { thread_ts: root })
    await say('of the others', {}, 'T0TWO')
    await say('elsewhere', { channel: 'C0OTHER01' })
    expect(runs).toBe(0)
    expect(await ask()).toEqual(['let us paint it blue'])
    expect(await ask({}, 'T0TWO')).toEqual(['of the others'])
  })

  test('a mention in a thread comes with the message that began it and its replies', async () => {
    start({ mode: 'mention' })
    await say('about something else')
    const root = await say('let us paint it blue')
    await say('green!', { thread_ts: root })
    expect(await ask({ thread_ts: root })).toEqual(['let us paint it blue', 'green!'])
    await say('red!', { thread_ts: root })
    expect(await ask({ thread_ts: root })).toEqual(['let us paint it blue', 'green!', 'red!'])
  })

  test('a thread it was asked in is followed, but not what people there say to each other', async () => {
    start()
    const root = await say('<@U0BOT> well?', { type: 'app_mention' })
    expect(runs).toBe(1)
    await say('and why?', { thread_ts: root })
    expect(runs).toBe(2)
    await say('<@U0ADA0001> what do you think?', { thread_ts: root })
    await say('on the main line')
    await say('of another thread', { thread_ts: stamp(500) })
    expect(runs).toBe(2)
    await say('so, <@U0ADA0001> is right?', { thread_ts: root })
    expect(runs).toBe(3)
  })

  test('with mention a thread is not followed', async () => {
    start({ mode: 'mention' })
    const root = await say('<@U0BOT> well?', { type: 'app_mention' })
    await say('and why?', { thread_ts: root })
    expect(runs).toBe(1)
  })

  test('a bot that is listened to must name the agent, in a thread too', async () => {
    start({}, { allowBots: ['B0OTHER01'] })
    const root = await say('<@U0BOT> well?', { type: 'app_mention' })
    const other = { thread_ts: root, user: 'U0OTHER01', bot_id: 'B0OTHER01', bot_profile: { app_id: 'A0OTHER01' } }
    await say('I am a bot too', other)
    expect(runs).toBe(1)
    await say('<@U0BOT> and now?', { ...other, type: 'app_mention' })
    expect(runs).toBe(2)
  })

  test('an edit and a deletion reach what a channel remembers', async () => {
    start()
    const first = await say('blue-canary')
    const second = await say('second-canary')
    const changed = { user: 'U0BOB0001', ts: first, text: 'green', edited: { user: 'U0BOB0001', ts: stamp(900) } }
    const before = { user: 'U0BOB0001', ts: first, text: 'blue-canary' }
    await say('', { subtype: 'message_changed', user: undefined, message: changed, previous_message: before })
    const gone = { user: 'U0BOB0001', ts: second, text: 'second-canary' }
    await say('', { subtype: 'message_deleted', user: undefined, deleted_ts: second, previous_message: gone })
    expect(await ask()).toEqual(['green'])
    expect(await tablesWith(database(), '-canary')).toEqual([])
  })

  test('a channel that is only listened to is recorded and answers nobody', async () => {
    start({ rooms: { C0GENERAL1: 'ambient' } })
    await say('let us paint it blue')
    await ask()
    expect(runs).toBe(0)
    expect(await tablesWith(database(), 'paint it blue')).toEqual(['ambient_context'])
  })
})
