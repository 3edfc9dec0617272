// A reply names people: those who are in the conversation are notified, nobody else is, whatever the agent was talked into.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { telegram, telegramChannel } from '../../adapters/telegram/index.ts'
import { defineAgent } from '../../src/agents/define-agent.ts'
import type { ConnectionConfig } from '../../src/contract/channel.ts'
import { type Database, nameStatement } from '../../src/db/client.ts'
import { namingBot } from '../doubles/bot-mention.ts'
import { startTelegramApi, type TelegramApi, testBotToken } from '../doubles/telegram-api.ts'
import { createTestGateway, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const secret = 'a-webhook-secret-of-forty-characters-xyz'
const transcript = nameStatement(
  'test_said',
  "select envelope ->> 'content' as said from messages where envelope ->> 'role' = 'assistant'",
)

type Entity = { readonly type: string; readonly offset: number; readonly length: number }

describeOnDatabase('a name in a reply', (database) => {
  let api: TelegramApi
  let gateway: TestGateway | undefined
  let nextId = 1
  const start = (says: string, mentionHumans?: ConnectionConfig['mentionHumans']) => {
    const connection = telegram({
      botToken: testBotToken,
      webhookSecret: secret,
      apiRoot: api.apiRoot,
      access: { mode: 'public', allow: [] },
      ...(mentionHumans === undefined ? {} : { mentionHumans }),
    })
    const agents = ['desk', 'billing'].map((slug) => defineAgent({ slug, run: () => says }))
    gateway = createTestGateway(database(), { agents, connections: [connection] }, {}, [telegramChannel])
  }
  const say = async (from: { id: number; username?: string }) => {
    if (gateway === undefined) throw new Error('not started')
    const [at] = gateway.gateway.connections
    if (at === undefined) throw new Error('no connection')
    const id = nextId++
    const message = {
      message_id: id,
      date: Math.floor(Date.now() / 1000),
      chat: { id: -77, type: 'group', title: 'Test' },
      from: { is_bot: false, first_name: 'Somebody', ...from },
      text: 'hello',
      entities: namingBot(),
    }
    const before = sent().length
    await gateway.gateway.receive(at, {
      bytes: new TextEncoder().encode(JSON.stringify({ update_id: 1_000 + id, message })),
      headers: { 'x-telegram-bot-api-secret-token': secret },
      receivedAt: new Date().toISOString(),
      from: 'local',
    })
    await settleUntil(gateway, () => sent().length > before)
  }
  const sent = () => api.payloads('sendMessage') as unknown as { text: string; entities?: readonly Entity[] }[]
  /** Names the platform would notify: outside code. */
  const notified = () => {
    const { text = '', entities = [] } = sent().at(-1) ?? {}
    return Array.from(text.matchAll(/(?<![\w/@])@\w{2,32}/g))
      .filter((match) => !entities.some(({ offset, type }) => type === 'code' && offset === match.index))
      .map(([name]) => name)
  }

  beforeEach(async () => {
    api = await startTelegramApi()
  })
  afterEach(async () => {
    gateway?.stop()
    await api.close()
  })

  const says = 'For @Ada_L, not @bob_x or @everyone; `@code_x`, ada_l@example.org, and @billing knows more.'

  test('reaches those who wrote in this conversation, in this turn or before, and nobody else', async () => {
    start(says)
    await say({ id: 7, username: 'ada_l' })
    expect(notified()).toEqual(['@Ada_L'])
    expect(sent().at(-1)?.text).toBe(says)
    await say({ id: 8, username: 'bob_x' })
    expect(notified()).toEqual(['@Ada_L', '@bob_x'])
    await say({ id: 9 })
    expect(notified()).toEqual(['@Ada_L', '@bob_x'])
    expect(await saidIn(database())).toEqual([says, says, says])
  })

  test('reaches nobody where the operator says so', async () => {
    start(says, 'nobody')
    await say({ id: 7, username: 'ada_l' })
    expect(notified()).toEqual([])
  })

  test('reaches anyone where the operator says so, but no whole room and no name in code', async () => {
    start(says, 'anyone')
    await say({ id: 7, username: 'ada_l' })
    expect(notified()).toEqual(['@Ada_L', '@bob_x'])
  })
})

async function saidIn(database: Database): Promise<readonly string[]> {
  return (await database.query<{ said: string }>(transcript, [])).map((row) => row.said)
}
