// A story on Telegram: a question with buttons, presses by those who may and may not decide, and the answer that follows.
import { afterEach, beforeEach, expect, test } from 'vitest'
import * as z from 'zod'
import { telegramChannel } from '../../adapters/telegram/index.ts'
import { questionPart } from '../../src/agents/approvals/approval-messages.ts'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { openAiCompatible } from '../../src/agents/models/openai-compatible.ts'
import { defineTool } from '../../src/agents/tools/define-tool.ts'
import { nameStatement } from '../../src/db/client.ts'
import { until } from '../doubles/background-gateway.ts'
import { type ScriptedModelServer, startScriptedModel } from '../doubles/scripted-model-server.ts'
import { startTelegramApi, type TelegramApi } from '../doubles/telegram-api.ts'
import { createTestGateway, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const webhookSecret = 'a-webhook-secret-of-forty-characters-xyz'
const group = { id: -77, type: 'supergroup', title: 'Engines' }
const states = nameStatement('test_states', 'select state, count(*)::int as count from inbox group by state')
const unsent = nameStatement('test_unsent', `select count(*)::int as count from outbox where settled_at is null`)

describeOnDatabase('an approval on Telegram', (database) => {
  let api: TelegramApi
  let server: ScriptedModelServer
  let gateway: TestGateway
  let updates = 0
  const paid: number[] = []
  const pay = defineTool({
    name: 'bank/pay',
    description: 'Pays.',
    parameters: z.object({ amount: z.number() }),
    action_policy: 'preview',
    approval: { summary: ({ amount }) => `pay ${amount} EUR` },
    execute: ({ amount }) => {
      paid.push(amount)
      return { paid: amount }
    },
  })

  const connection = () => ({
    channel: 'telegram',
    id: 'default',
    access: { mode: 'public' as const, allow: [] },
    settings: {
      botToken: api.token,
      webhookSecret,
      apiRoot: api.apiRoot,
      botUsername: 'gw_bot',
      limits: { conversation: { count: 100, perMs: 1000 } },
    },
  })

  beforeEach(async () => {
    paid.length = 0
    api = await startTelegramApi()
    server = await startScriptedModel()
    gateway = createTestGateway(
      database(),
      {
        agents: [
          defineAgent({
            slug: 'demo',
            model: openAiCompatible({ baseUrl: server.baseUrl, model: 'scripted' }),
            tools: [pay],
          }),
        ],
        connections: [connection()],
      },
      {},
      [telegramChannel],
    )
  })
  afterEach(async () => {
    gateway.stop()
    expect(api.unexpected).toEqual([])
    await api.close()
    await server.close()
  })

  const receive = async (update: object): Promise<void> => {
    const [at] = gateway.gateway.connections
    if (at === undefined) return expect.unreachable('no connection')
    updates += 1
    const bytes = new TextEncoder().encode(JSON.stringify({ update_id: updates, ...update }))
    const headers = { 'x-telegram-bot-api-secret-token': webhookSecret }
    await gateway.gateway.receive(at, { bytes, headers, receivedAt: new Date().toISOString(), from: 'remote' })
  }
  const person = (id: number) => ({ id, is_bot: false, first_name: `P${id}` })
  const press = async (data: string, from: number, id: string) => {
    const message = { message_id: 1, date: 0, chat: group }
    await receive({ callback_query: { id, from: person(from), chat_instance: 'c', message, data } })
    await settleUntil(gateway, () =>
      api.payloads('answerCallbackQuery').some((each) => each['callback_query_id'] === id),
    )
  }
  const buttons = () => {
    const markup = api.payloads('sendMessage')[0]?.['reply_markup'] as {
      inline_keyboard: { callback_data: string }[][]
    }
    return markup.inline_keyboard[0]?.map((button) => button.callback_data) ?? []
  }
  const toast = (id: string) => api.payloads('answerCallbackQuery').find((each) => each['callback_query_id'] === id)

  test('is asked with buttons, decided by a press, and answered once', async () => {
    server.script({ calls: [{ id: 'pay-1', name: 'bank__pay', arguments: '{"amount":12}' }] }, { text: 'Paid 12 EUR.' })
    const said = { text: '@gw_bot pay my rent', entities: [{ type: 'mention', offset: 0, length: 7 }] }
    const date = Math.floor(Date.now() / 1000)
    await receive({ message: { message_id: 40, date, chat: group, from: person(5), ...said } })
    await settleUntil(gateway, () => api.sent.length === 1)
    const [approve = ''] = buttons()
    expect(approve).toMatch(/^a:[0-9a-f]{6}$/)

    await press('a:000000', 5, 'forged')
    expect(toast('forged')?.['text']).toContain('Nothing with the code 000000 waits')
    expect(paid).toEqual([])
    expect(api.payloads('editMessageReplyMarkup')).toEqual([])

    await press(approve, 6, 'bystander')
    expect(toast('bystander')?.['text']).toBe('You cannot decide this. It takes the person it is for.')
    expect(paid).toEqual([])

    await press(approve, 5, 'right')
    expect(toast('right')).toEqual({ callback_query_id: 'right', text: 'Approved: pay 12 EUR. I go on with it.' })
    await settleUntil(gateway, () => api.sent.some(({ text }) => text.includes('Paid 12 EUR.')))
    expect(paid).toEqual([12])
    await settleUntil(gateway, async () => (await database().query<{ count: number }>(unsent, []))[0]?.count === 0)
    expect(api.payloads('editMessageReplyMarkup')).toEqual([{ chat_id: -77, message_id: 1 }])
    expect(api.sent[0]?.text).toBe('Approved by P5: pay 12 EUR.')

    await press(approve, 6, 'late')
    expect(toast('late')?.['text']).toContain('may have been decided')
    expect(paid).toEqual([12])
    expect(api.sent.filter(({ text }) => text.includes('Paid 12 EUR.'))).toHaveLength(1)
    await settleUntil(gateway, async () => {
      const rows = await database().query<{ state: string }>(states, [])
      return rows.every(({ state }) => state === 'answered')
    })
  })

  test('that is decided by a typed command loses its buttons and says who decided', async () => {
    server.script({ calls: [{ id: 'pay-1', name: 'bank__pay', arguments: '{"amount":12}' }] }, { text: 'Paid 12 EUR.' })
    const chat = { id: 5, type: 'private', first_name: 'P5' }
    const date = Math.floor(Date.now() / 1000)
    const say = (message_id: number, text: string, entities: object[] = []) =>
      receive({ message: { message_id, date, chat, from: person(5), text, entities } })
    await say(50, 'pay my rent')
    await settleUntil(gateway, () => api.sent.length === 1)
    expect(buttons()).toHaveLength(2)
    await say(51, '/approve', [{ type: 'bot_command', offset: 0, length: 8 }])
    await settleUntil(gateway, () => api.sent.some(({ text }) => text.includes('Paid 12 EUR.')))
    await settleUntil(gateway, async () => (await database().query<{ count: number }>(unsent, []))[0]?.count === 0)
    expect(api.sent[0]?.text).toBe('Approved by P5: pay 12 EUR.')
    expect(api.payloads('editMessageText')).toHaveLength(1)
    expect(api.payloads('editMessageText')[0]).not.toHaveProperty('reply_markup')
  })

  test.each([
    ['a press', 'in a message that grew'],
    ['a typed command', 'in a message that grew'],
    ['a typed command', 'among words'],
  ])('that is decided by %s, %s, leaves the words and says who decided below them', async (way, where) => {
    gateway.stop()
    const agent = defineAgent({
      slug: 'demo',
      async run(_message, { pause, show }) {
        const isGrowing = where !== 'among words'
        if (isGrowing) show('I look at the bill.')
        if (isGrowing) await until(() => api.sent.length > 0)
        const form = { prefix: '/', joint: '_' }
        const { action, question } = await pause.approval({ summary: 'pay 12 EUR', apply_input: {} })
        return isGrowing
          ? { parts: [questionPart(action, form)], status: 'input_required' }
          : `I look at the bill.\n\n${question}`
      },
      onSignal: () => 'It is done.',
    })
    gateway = createTestGateway(database(), { agents: [agent], connections: [connection()] }, {}, [telegramChannel])
    const chat = { id: 7, type: 'private', first_name: 'P7' }
    const date = Math.floor(Date.now() / 1000)
    const said = { date, chat, from: person(7) }
    await receive({ message: { ...said, message_id: 70, text: 'pay my rent' } })
    const card = () => api.sent[0]
    await settleUntil(gateway, () => card()?.text.includes('12 EUR') === true)
    if (way === 'a press') {
      const [edit] = api.payloads('editMessageText')
      const markup = edit?.['reply_markup'] as { inline_keyboard: { callback_data: string }[][] }
      const data = markup.inline_keyboard[0]?.[0]?.callback_data
      const message = { message_id: card()?.message_id, date: 0, chat }
      await receive({ callback_query: { id: 'q7', from: person(7), chat_instance: 'c', message, data } })
    } else {
      const entities = [{ type: 'bot_command', offset: 0, length: 8 }]
      await receive({ message: { ...said, message_id: 71, text: '/approve', entities } })
    }
    await settleUntil(gateway, () => api.sent.some(({ text }) => text === 'It is done.'))
    await settleUntil(gateway, async () => (await database().query<{ count: number }>(unsent, []))[0]?.count === 0)
    expect(card()?.text).toBe('I look at the bill.\n\nApproved by P7: pay 12 EUR.')
    expect(api.payloads('editMessageText').at(-1)).not.toHaveProperty('reply_markup')
  })
})
