// Stories on Telegram about what need not be said: to chats that are closed to the bot, and about edits that change nothing.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { telegramChannel } from '../../adapters/telegram/index.ts'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { reasonText } from '../../src/api/explain/reason-texts.ts'
import { textOf } from '../../src/contract/index.ts'
import { nameStatement } from '../../src/db/client.ts'
import { rateLimited, startTelegramApi, type TelegramApi } from '../doubles/telegram-api.ts'
import { createTestGateway, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const webhookSecret = 'a-webhook-secret-of-forty-characters-xyz'
const inbox = nameStatement(
  'test_inbox',
  "select event, state, reason from inbox where state <> 'ignored' order by seq",
)
const outbox = nameStatement('test_outbox', 'select state, reason from outbox order by seq')
const lines = nameStatement('test_lines', 'select count(*)::int as count from messages')
const later = nameStatement(
  'test_later',
  `with limited as (update connection_limits set not_before = now()), rested as (update send_lanes set next_at = now())
   update outbox set not_before = now() where settled_at is null`,
)
const ada = { id: 5, is_bot: false, first_name: 'Ada' }
const chat = { id: 5, type: 'private' }
const now = (): number => Math.floor(Date.now() / 1000)

describeOnDatabase('Telegram', (database) => {
  let api: TelegramApi
  let gateway: TestGateway
  let updates = 0
  /** What happens while the agent thinks. */
  let meanwhile: () => Promise<void> = async () => {}

  beforeEach(async () => {
    meanwhile = async () => {}
    api = await startTelegramApi()
    gateway = startGateway()
  })
  const startGateway = (): TestGateway => {
    const limits = { conversation: { count: 100, perMs: 1000 } }
    const settings = { botToken: api.token, webhookSecret, apiRoot: api.apiRoot, limits }
    const run = async (message: { parts: Parameters<typeof textOf>[0] }): Promise<string> => {
      await meanwhile()
      return `you said: ${textOf(message.parts)}`
    }
    const access = { mode: 'public' as const, allow: [] }
    const connections = [{ channel: 'telegram', id: 'default', access, settings }]
    return createTestGateway(database(), { agents: [defineAgent({ slug: 'demo', run })], connections }, {}, [
      telegramChannel,
    ])
  }
  afterEach(async () => {
    gateway.stop()
    expect(api.unexpected).toEqual([])
    await api.close()
  })

  const receive = async (fields: object): Promise<void> => {
    const [at] = gateway.gateway.connections
    if (at === undefined) return expect.unreachable('no connection')
    updates += 1
    const bytes = new TextEncoder().encode(JSON.stringify({ update_id: updates, ...fields }))
    const headers = { 'x-telegram-bot-api-secret-token': webhookSecret }
    await gateway.gateway.receive(at, { bytes, headers, receivedAt: new Date().toISOString(), from: 'remote' })
  }
  const say = (text: string, id = updates + 1) =>
    receive({ message: { message_id: id, date: now(), chat, from: ada, text } })
  const edit = (id: number, text: string, date: number) =>
    receive({ edited_message: { message_id: id, date: now(), edit_date: date, chat, from: ada, text } })
  const member = (status: string, date = now()) =>
    receive({ my_chat_member: { chat, from: ada, date, old_chat_member: {}, new_chat_member: { status, user: {} } } })
  const isSettled = async () => (await rows()).every(({ state }) => ['delivered', 'refused'].includes(state))
  const rows = () => database().query<{ state: string; reason: string | null }>(outbox, [])

  test('T41 an answer for somebody who has blocked the bot meanwhile ends refused, and Telegram is not asked', async () => {
    meanwhile = () => member('kicked')
    await say('hello')
    await settleUntil(gateway, async () => (await rows()).length === 1 && (await isSettled()))
    expect(await rows()).toEqual([{ state: 'refused', reason: 'place_closed:blocked_by_user' }])
    expect(api.payloads('sendMessage')).toEqual([])
    expect(reasonText('place_closed:blocked_by_user')).toMatch(/nothing can be sent there any more: blocked_by_user/)
    expect(await database().query(inbox, [])).toEqual([{ event: 'new', state: 'dead', reason: 'delivery_refused' }])
  })

  test('T41 who lets the bot in again is answered, also when the older word comes last', async () => {
    meanwhile = async () => {
      await member('member', now() + 60)
      await member('kicked')
    }
    await say('hello')
    await settleUntil(gateway, () => api.sent.length === 1)
    expect(await rows()).toEqual([{ state: 'delivered', reason: null }])
  })

  test('T41 who writes is answered, though nobody told that the chat is open again', async () => {
    await member('kicked')
    await say('hello again')
    await settleUntil(gateway, () => api.sent.length === 1)
    expect(api.sent[0]?.text).toBe('you said: hello again')
  })

  test('T58 a wait Telegram asked for is kept by the next process too', async () => {
    api.failNext('sendMessage', rateLimited(30))
    await say('hello')
    await settleUntil(gateway, async () => (await rows())[0]?.state === 'retry')
    gateway.stop()
    gateway = startGateway()
    await gateway.settle()
    await gateway.settle()
    expect(await rows()).toEqual([{ state: 'retry', reason: 'rate_limited' }])
    expect(api.payloads('sendMessage')).toHaveLength(1)
    await database().query(later, [])
    await settleUntil(gateway, () => api.sent.length === 1)
    expect(api.sent[0]?.text).toBe('you said: hello')
  })

  test('T33 an edit that changes nothing for the reader is no amendment, one that changes it back is', async () => {
    await say('one', 1)
    await settleUntil(gateway, () => api.sent.length === 1)
    const counted: (number | undefined)[] = []
    for (const [at, text] of ['one', 'two', 'two', 'one'].entries()) {
      await edit(1, text, now() + at)
      await gateway.settle()
      counted.push((await database().query<{ count: number }>(lines, []))[0]?.count)
    }
    expect(counted).toEqual([2, 3, 3, 4])
    expect(await database().query(inbox, [])).toMatchObject([
      { event: 'new', state: 'answered' },
      { event: 'edit', state: 'refused', reason: 'unchanged' },
      { event: 'edit', state: 'merged' },
      { event: 'edit', state: 'refused', reason: 'unchanged' },
      { event: 'edit', state: 'merged' },
    ])
  })

  test('T33 also of a message that still waits', async () => {
    await say('one', 1)
    await edit(1, 'one', now())
    await settleUntil(gateway, () => api.sent.length === 1)
    expect(api.sent[0]?.text).toBe('you said: one')
    expect(await database().query(inbox, [])).toMatchObject([
      { event: 'new', state: 'answered' },
      { event: 'edit', state: 'refused', reason: 'unchanged' },
    ])
  })
})
