// The reply policy with a platform's own updates: a group, a topic of a forum, a post in a channel, and a room that is only listened to.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { telegram, telegramChannel } from '../../adapters/telegram/index.ts'
import { defineAgent } from '../../src/agents/define-agent.ts'
import type { ReplyPolicySettings } from '../../src/contract/channel.ts'
import { textOf } from '../../src/contract/index.ts'
import { nameStatement } from '../../src/db/client.ts'
import { startTelegramApi, type TelegramApi, testBotToken } from '../doubles/telegram-api.ts'
import { createTestGateway, type TestGateway } from '../doubles/test-gateway.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const secret = 'a-webhook-secret-of-forty-characters-xyz'
const fates = nameStatement('test_fates_of_updates', 'select state, reason from inbox order by seq')
const group = { id: -100, type: 'supergroup', title: 'Lamps', is_forum: true }
const topic = { is_topic_message: true, message_thread_id: 42 }
const name = { text: '@gw_bot hello', entities: [{ type: 'mention', offset: 0, length: 7 }] }

describeOnDatabase('the reply policy on Telegram', (database) => {
  let api: TelegramApi
  let gateway: TestGateway
  let nextId = 1
  let around: readonly string[]
  beforeEach(async () => {
    api = await startTelegramApi()
  })
  afterEach(async () => {
    gateway.stop()
    await api.close()
  })

  const start = (replyPolicy?: ReplyPolicySettings) => {
    const access = { mode: 'public', allow: [] } as const
    const account = {
      botToken: testBotToken,
      botUsername: 'gw_bot',
      webhookSecret: secret,
      apiRoot: api.apiRoot,
      access,
    }
    const limits = { connection: { count: 1000, perMs: 1 }, conversation: { count: 1000, perMs: 1 } }
    const connection = telegram({ ...account, limits, ...(replyPolicy === undefined ? {} : { replyPolicy }) })
    const agents = [
      defineAgent({
        slug: 'desk',
        run(message) {
          around = (message.history ?? [])
            .filter((turn) => turn.ambient === true)
            .map(({ sender, parts }) => `${sender.display_name}: ${textOf(parts)}`)
          return `seen ${message.channel?.external_message_id}`
        },
      }),
    ]
    gateway = createTestGateway(database(), { agents, connections: [connection] }, {}, [telegramChannel])
  }
  const say = async (fields: object, kind = 'message') => {
    const [at] = gateway.gateway.connections
    if (at === undefined) throw new Error('no connection')
    const id = nextId++
    const from = { id: 7, is_bot: false, first_name: 'Ada' }
    const message = { message_id: id, date: Math.floor(Date.now() / 1000), chat: group, from, text: 'hello', ...fields }
    await gateway.gateway.receive(at, {
      bytes: new TextEncoder().encode(JSON.stringify({ update_id: 1_000 + id, [kind]: message })),
      headers: { 'x-telegram-bot-api-secret-token': secret },
      receivedAt: new Date().toISOString(),
      from: 'local',
    })
    await gateway.settle()
    return `seen ${id}`
  }
  const answers = () => api.sent.map(({ text }) => text)
  const ends = async () =>
    (await database().query<{ state: string; reason: string | null }>(fates, [])).map(
      ({ state, reason }) => reason ?? state,
    )

  test('a group is answered where it names the bot, replies to it or gives it a command', async () => {
    start()
    await say({})
    await say({ chat: { id: -200, type: 'channel', title: 'News' }, from: undefined }, 'channel_post')
    const us = { id: 7000001, is_bot: true, first_name: 'Gateway', username: 'gw_bot' }
    const parent = { message_id: 1, date: 1, chat: group, from: us, text: 'x' }
    const seen = [
      await say(name),
      await say({ reply_to_message: parent }),
      await say({ text: '/ask', entities: [{ type: 'bot_command', offset: 0, length: 4 }] }),
      await say({ chat: { id: 7, type: 'private', first_name: 'Ada' } }),
    ]
    expect(answers()).toEqual(seen)
    expect((await ends()).slice(0, 2)).toEqual(['not_addressed', 'not_addressed'])
  })

  test('a topic is followed once the bot was asked in it; the group around it is not', async () => {
    start({ mode: 'thread' })
    await say(topic)
    const seen = [await say({ ...name, ...topic }), await say(topic)]
    await say({ ...topic, message_thread_id: 43 })
    seen.push(await say(name))
    await say({})
    expect(answers()).toEqual(seen)
    expect(await ends()).toEqual([
      'not_addressed',
      'answered',
      'answered',
      'not_addressed',
      'answered',
      'not_addressed',
    ])
  })

  test('a room that is only listened to hears commands of the gateway and nothing else', async () => {
    start({ rooms: { '-100': 'ambient' } })
    await say(name)
    await say({ text: '/help', entities: [{ type: 'bot_command', offset: 0, length: 5 }] })
    const seen = await say({ ...name, chat: { ...group, id: -300 } })
    expect(answers()).toEqual([expect.stringContaining('/stop'), seen])
    expect((await ends())[0]).toBe('ambient')
  })

  test('what a group said before is known where the bot is asked, each topic for itself', async () => {
    start()
    const bob = { from: { id: 8, is_bot: false, first_name: 'Bob' } }
    await say({ ...bob, text: 'let us paint it blue' })
    await say({ ...bob, ...topic, text: 'of the topic' })
    await say({ ...bob, text: 'elsewhere', chat: { ...group, id: -300 } })
    await say({ ...bob, text: 'a picture', photo: undefined, caption: undefined })
    await say(name)
    expect(around).toEqual(['Bob: let us paint it blue', 'Bob: a picture'])
    await say({ ...name, ...topic })
    expect(around).toEqual(['Bob: of the topic'])
  })

  test('an edited message is known as it reads now', async () => {
    start()
    const words = { message_id: 9_001, text: 'blue' }
    await say(words)
    await say({ ...words, text: 'green', edit_date: Math.floor(Date.now() / 1000) }, 'edited_message')
    await say(name)
    expect(around).toEqual(['Ada: green'])
  })
})
