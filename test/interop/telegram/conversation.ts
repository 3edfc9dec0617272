// A story on telegram-test-api: one forum, one topic, and a relay between it and the gateway. The peer takes messages, edits and
// presses; it does not know topics' rules, limits or the secret of a webhook: those are the relay's.
import { createServer } from 'node:net'
import type { ParleyProcess } from '../../doubles/parley-process.ts'
import { type DatabaseKind, eventually, openStage } from '../conversation/conversation-setup.ts'
import type { Story } from '../conversation/meetings.ts'
import { fieldsOf, type Passing, startRelay } from '../conversation/relay.ts'
import { loadPeer, provePeer } from '../peer.ts'

type Sent = {
  readonly messageId: number
  readonly message: {
    readonly text?: string
    readonly chat_id?: unknown
    readonly message_thread_id?: unknown
    readonly reply_markup?: { readonly inline_keyboard?: readonly (readonly { readonly callback_data: string }[])[] }
  }
}
type Client = {
  readonly makeMessage: (text: string, options: object) => object
  readonly makeCallbackQuery: (data: string, options: object) => object
  readonly sendMessage: (message: object) => Promise<unknown>
  readonly sendCallback: (query: object) => Promise<unknown>
}
type Server = {
  readonly messageId: number
  readonly storage: { readonly botMessages: readonly Sent[] }
  readonly start: () => Promise<void>
  readonly stop: () => Promise<unknown>
  readonly setWebhook: (webhook: { readonly url: string }, token: string) => void
  readonly getClient: (token: string, options: object) => Client
}

/** It has answered getMe. */
export const telegramTestApi = await provePeer(
  'telegram-test-api',
  loadPeer('telegram-test-api', (require) => require('telegram-test-api') as new (config: object) => Server),
  async (create) => {
    const port = await freePort()
    const server = new create({ port, host: '127.0.0.1' })
    await server.start()
    try {
      const response = await fetch(`http://127.0.0.1:${port}/bot1:smoke/getMe`, { method: 'POST' })
      const { ok } = (await response.json()) as { readonly ok?: boolean }
      if (ok !== true) throw new Error(`getMe answered ${response.status}`)
    } finally {
      await server.stop()
    }
  },
)

export type TelegramStory = Story & {
  readonly begin: () => Promise<ParleyProcess>
  readonly kill: () => Promise<void>
  /** Asks in the topic; the id of what was asked. */
  readonly ask: () => Promise<string>
  readonly press: () => Promise<void>
  /** So many edits are seen before the model goes on with its last words; one, unless it is said. */
  readonly wantFrames: (count: number) => void
  readonly close: () => Promise<void>
}

const token = '7000001:AAE-test-token-of-the-story-0000000000'
const webhookSecret = 'a-webhook-secret-of-forty-characters-xyz'
const forum = { id: -1001, type: 'supergroup', title: 'Lamps', is_forum: true }
const topic = { chat: forum, message_thread_id: 42, is_topic_message: true }

export async function openTelegramStory(
  create: new (config: object) => Server,
  database: DatabaseKind,
  postgresUrl: string,
): Promise<TelegramStory> {
  const relay = await startRelay({ 'x-telegram-bot-api-secret-token': webhookSecret })
  const port = await freePort()
  // What is older than its time is thrown away.
  const server = new create({ port, host: '127.0.0.1', storeTimeout: 3600 })
  await server.start()
  relay.connect(`http://127.0.0.1:${port}`)
  server.setWebhook({ url: relay.hookUrl }, token)
  const settings = JSON.stringify({ botToken: token, webhookSecret, apiRoot: relay.url, botUsername: 'gw_bot' })
  const connection = `telegram({ ...${settings}, access, limits, callTimeoutMs, groupMessagesPerMinute: 100 })`
  let framesWanted = 1
  const watch = {
    isOpened: (words: string) => relay.calls.some((each) => each.method === 'sendMessage' && isBeginning(each, words)),
    frames: (words: string) =>
      relay.calls.filter((each) => each.method === 'editMessageText' && isBeginning(each, words)).length,
  }
  const stage = await openStage({ database, postgresUrl, connection, watch, framesWanted: () => framesWanted })
  const client = server.getClient(token, { userId: 5, chatId: forum.id, type: forum.type, firstName: 'Ada' })
  const sent = () => server.storage.botMessages
  const question = () => sent().find(({ message }) => message.reply_markup?.inline_keyboard !== undefined)
  let gateway: ParleyProcess | undefined
  return {
    stage,
    gateway: () => gateway ?? failed('no gateway runs'),
    meet(meeting) {
      relay.meet = meeting
    },
    texts: async () => sent().flatMap((each) => (isInTopic(each) ? (each.message.text ?? '') : [])),
    elsewhere: async () => sent().flatMap((each) => (isInTopic(each) ? [] : (each.message.text ?? ''))),
    async begin() {
      gateway = await stage.start()
      relay.bringTo(`${gateway.url}/hooks/telegram/default`)
      return gateway
    },
    async kill() {
      relay.bringTo(undefined)
      await gateway?.kill()
    },
    async ask() {
      const id = server.messageId
      const entities = [{ type: 'mention', offset: 0, length: 7 }]
      await client.sendMessage(client.makeMessage('@gw_bot pay for the lamps', { ...topic, entities }))
      return `${forum.id}:${id}`
    },
    async press() {
      await eventually('a question with buttons', () => question() !== undefined)
      const { messageId, message } = question() ?? failed('no question')
      const data = message.reply_markup?.inline_keyboard?.[0]?.[0]?.callback_data ?? failed('no button')
      const card = { message: { ...topic, message_id: messageId, date: Math.floor(Date.now() / 1000) } }
      await client.sendCallback(client.makeCallbackQuery(data, { ...card, chat_instance: 'c' }))
    },
    wantFrames(count) {
      framesWanted = count
    },
    async close() {
      await stage.close()
      await relay.close()
      await server.stop()
    },
  }
}

function isInTopic({ message }: Sent): boolean {
  return Number(message.chat_id) === forum.id && Number(message.message_thread_id) === topic.message_thread_id
}

function isBeginning(call: Passing, words: string): boolean {
  const text = String(fieldsOf(call)['text'] ?? '')
  return text !== '' && words.startsWith(text)
}

/** The peer cannot be told to take any port. */
async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise<void>((resolve) => server.close(() => resolve()))
  return typeof address === 'object' && address !== null ? address.port : failed('no port')
}

function failed(text: string): never {
  throw new Error(text)
}
