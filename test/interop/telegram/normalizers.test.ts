// The same update through Chat SDK's Telegram adapter and through ours: both must say the same of it, except where the list
// says why not. What stands in the list must differ, so that it never outlives its reason.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { telegramChannel } from '../../../adapters/telegram/index.ts'
import { type InboundEvent, textOf } from '../../../src/contract/index.ts'
import { createWebHmac } from '../../../src/lib/index.ts'
import { startTelegramApi, type TelegramApi, testBotToken } from '../../doubles/telegram-api.ts'
import { chatSdk, type Reading, readByChatSdk, silent } from '../chat-sdk.ts'
import { describeBeside } from '../peer.ts'
import { cases } from './updates.ts'

const secret = 'a-webhook-secret-of-forty-characters-xyz'
const headers = { 'content-type': 'application/json', 'x-telegram-bot-api-secret-token': secret }

type Difference = Partial<Record<keyof Reading | 'isRead', string>>

const differences: Readonly<Record<string, Difference>> = {
  'a name with a hyphen behind it': {
    isForUs: 'Telegram ends the entity at the hyphen; the name is still another one',
  },
  'a reply that carries a thread id': {
    place: 'ordinary replies carry a thread id; only is_topic_message makes a topic',
    text: 'ours quotes what somebody else said, marked as theirs; the agent was not there to hear it',
  },
  'a reply to us': { isForUs: 'theirs has a switch for it, off by default' },
  'a command for us': { isRead: 'theirs hands commands to handlers of their own' },
  'a command for another bot': { isRead: 'it is not for us' },
  'an anonymous admin': { author: 'the placeholder bot is nobody; the group is the author' },
  'another bot': { isRead: 'bots are not answered, or two of them never stop' },
  'a place': { text: 'both are words of our own choice' },
}

describeBeside('Telegram updates beside Chat SDK', chatSdk, (module) => {
  let api: TelegramApi
  beforeAll(async () => {
    api = await startTelegramApi()
  })
  afterAll(() => api.close())

  const theirs = async (update: object): Promise<Reading | undefined> => {
    const settings = { botToken: testBotToken, secretToken: secret, userName: 'gw_bot', apiUrl: api.apiRoot }
    const adapter = module().telegram['createTelegramAdapter']?.({ ...settings, mode: 'webhook', logger: silent })
    const request = new Request('http://127.0.0.1/', { method: 'POST', headers, body: JSON.stringify(update) })
    const read = await readByChatSdk(module(), { telegram: adapter }, request)
    if (read === undefined) return undefined
    const place = read.threadId.replace(/^telegram:/, '')
    const isForUs = read.isMention === true || !place.startsWith('-')
    return {
      author: read.author.userId,
      place,
      text: read.text,
      isForUs,
      files: read.attachments.map(({ type }) => type),
    }
  }

  test.each(Object.entries(cases))('agree on %s', async (name, update) => {
    const [mine, other] = [await ours(update), await theirs(update)]
    const known = differences[name] ?? {}
    const isBoth = mine !== undefined && other !== undefined
    expect(isBoth, `ours ${JSON.stringify(mine)}, theirs ${JSON.stringify(other)}`).toBe(known.isRead === undefined)
    if (!isBoth) return
    const differing = (Object.keys(mine) as (keyof Reading)[]).filter(
      (field) => JSON.stringify(mine[field]) !== JSON.stringify(other[field]),
    )
    expect(differing, `ours ${JSON.stringify(mine)}, theirs ${JSON.stringify(other)}`).toEqual(Object.keys(known))
  })
})

async function ours(update: object): Promise<Reading | undefined> {
  const connection = { tenant: 'default', id: 'bot', agent: 'demo', domain: 'parley.localhost' }
  const deps = { connection, fetch, now: () => 1763300000_000, hmac: createWebHmac() }
  const settings = { botToken: testBotToken, webhookSecret: secret, botUsername: 'gw_bot' }
  const bytes = new TextEncoder().encode(JSON.stringify(update))
  const arrival = { bytes, headers, receivedAt: '2025-11-16T13:33:20.000Z', from: 'local' as const }
  const reception = await telegramChannel.create(settings, deps).receive(arrival, connection)
  const arrived: InboundEvent | undefined = reception.kind === 'read' ? reception.events[0] : undefined
  if (arrived?.kind !== 'message') return undefined
  const { message, subject } = arrived
  const [, chat = '', topic] = message.thread_id?.split(':') ?? []
  return {
    author: subject?.replace(/^telegram:(chat\/)?/, '') ?? '',
    place: topic === 'main' ? chat : `${chat}:${topic}`,
    text: textOf(message.parts),
    isForUs: !['none', 'thread'].includes(message.channel?.addressed ?? 'none'),
    files: message.parts.filter(({ kind }) => kind !== 'text').map((part) => familyOf(part)),
  }
}

/** Their word for what a file is. */
function familyOf(part: object): string {
  const mime = 'mime' in part && typeof part.mime === 'string' ? part.mime : ''
  return ['image', 'audio', 'video'].find((family) => mime.startsWith(family)) ?? 'file'
}
