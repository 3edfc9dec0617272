// Stories on Telegram that need the conversation to wait or to be found again: albums, and groups that moved.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { telegramChannel } from '../../adapters/telegram/index.ts'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { textOf } from '../../src/contract/index.ts'
import { nameStatement } from '../../src/db/client.ts'
import { startTelegramApi, type TelegramApi } from '../doubles/telegram-api.ts'
import { createTestGateway, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const webhookSecret = 'a-webhook-secret-of-forty-characters-xyz'
const conversations = nameStatement('test_conversations', 'select count(*)::int as count from conversations')

const jpeg = Uint8Array.from([0xff, 0xd8, 0xff, 0xe0, 0, 16, 0x4a, 0x46, 0x49, 0x46, 0, 1])

describeOnDatabase('Telegram', (database) => {
  let api: TelegramApi
  let gateway: TestGateway
  let updates = 0
  const heard: string[] = []

  beforeEach(async () => {
    heard.length = 0
    api = await startTelegramApi()
    for (const id of ['a', 'b', 'c', 'd']) api.files.set(id, { bytes: jpeg, path: `photos/${id}.jpg` })
    const limits = { conversation: { count: 100, perMs: 1000 } }
    const settings = { botToken: api.token, webhookSecret, apiRoot: api.apiRoot, limits }
    const run = (message: { parts: Parameters<typeof textOf>[0] }): string => {
      const files = message.parts.filter(({ kind }) => kind === 'file').length
      heard.push(`${files} files, ${textOf(message.parts)}`)
      return 'seen'
    }
    const connections = [
      { channel: 'telegram', id: 'default', access: { mode: 'public' as const, allow: [] }, settings },
    ]
    gateway = createTestGateway(database(), { agents: [defineAgent({ slug: 'demo', run })], connections }, {}, [
      telegramChannel,
    ])
  })
  afterEach(async () => {
    gateway.stop()
    await api.close()
  })

  const receive = async (fields: object, chat: object = { id: 5, type: 'private' }): Promise<void> => {
    const [at] = gateway.gateway.connections
    if (at === undefined) return expect.unreachable('no connection')
    updates += 1
    const from = { id: 5, is_bot: false, first_name: 'Ada' }
    const message = { message_id: updates, date: Math.floor(Date.now() / 1000), chat, from, ...fields }
    const bytes = new TextEncoder().encode(JSON.stringify({ update_id: updates, message }))
    const headers = { 'x-telegram-bot-api-secret-token': webhookSecret }
    await gateway.gateway.receive(at, { bytes, headers, receivedAt: new Date().toISOString(), from: 'remote' })
  }
  const photo = (id: string, fields: object = {}) =>
    receive({ media_group_id: 'g1', photo: [{ file_id: id, file_size: 1 }], ...fields })

  test('T07 items of an album are one message, in order, with the caption', async () => {
    await gateway.settle()
    await photo('a', { caption: 'our trip' })
    // At work while the others arrive; waited for, it would outlast the album on a busy machine.
    const working = gateway.settle()
    await photo('b')
    await photo('c')
    await working
    await settleUntil(gateway, () => api.sent.length === 1)
    expect(heard).toEqual(['3 files, our trip'])
  })

  test('T08 an item that comes late is a message of its own, and nothing else waits for an album', async () => {
    await photo('a')
    await settleUntil(gateway, () => api.sent.length === 1)
    await photo('d')
    await receive({ text: 'and?' })
    await settleUntil(gateway, () => heard.join().includes('and?'))
    expect(heard).toEqual(['1 files, ', '1 files, and?'])
  })

  test('T34 a group that moved goes on with its conversation at the new id', async () => {
    const command = { text: '/tell me', entities: [{ type: 'bot_command', offset: 0, length: 5 }] }
    await receive(command, { id: -50, type: 'group', title: 'Old' })
    await settleUntil(gateway, () => api.sent.length === 1)
    await receive({ migrate_to_chat_id: -10050 }, { id: -50, type: 'group', title: 'Old' })
    await receive({ migrate_from_chat_id: -50 }, { id: -10050, type: 'supergroup', title: 'Old' })
    await receive(command, { id: -10050, type: 'supergroup', title: 'Old' })
    await settleUntil(gateway, () => api.sent.length === 2)
    expect((await database().query<{ count: number }>(conversations, []))[0]?.count).toBe(1)
    expect(api.sent.map(({ chat_id }) => chat_id)).toEqual(['-50', '-10050'])
  })
})
