// Chat SDK's reading of an update: the same bytes through its own webhook entry, taken from its handlers.
import { importPeer, provePeer } from './peer.ts'

/** What both sides say about a message, in one vocabulary. */
export type Reading = {
  readonly author: string
  readonly place: string
  readonly text: string
  readonly isForUs: boolean
  readonly files: readonly string[]
}

type Attachment = { readonly type: string }
type Message = {
  readonly text: string
  readonly threadId: string
  readonly isMention?: boolean
  readonly author: { readonly userId: string }
  readonly attachments: readonly Attachment[]
}
type Handler = (thread: unknown, message: Message) => Promise<void>
type Webhook = (request: Request, options: { waitUntil: (work: Promise<unknown>) => void }) => Promise<Response>
type Chat = {
  readonly onNewMention: (handler: Handler) => void
  readonly onDirectMessage: (handler: Handler) => void
  readonly onNewMessage: (pattern: RegExp, handler: Handler) => void
  readonly webhooks: Readonly<Record<string, Webhook>>
}
type ChatModule = { readonly Chat: new (config: object) => Chat }
type Factories = Readonly<Record<string, (options: object) => unknown>>

/** A log that keeps nothing, as theirs wants it. */
export const silent = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => silent,
}

const imported = await importPeer('chat and its adapters', async (importHere) => ({
  // Their packages have types; what the test uses of them stands above, so that it fails by name when it changes.
  Chat: ((await importHere('chat')) as ChatModule).Chat,
  state: (await importHere('@chat-adapter/state-memory')) as Factories,
  telegram: (await importHere('@chat-adapter/telegram')) as Factories,
  slack: (await importHere('@chat-adapter/slack')) as Factories,
}))

export type ChatSdk = Extract<typeof imported, { module: unknown }>['module']

/** It has been made with an adapter for each channel, without a call to either. */
export const chatSdk = await provePeer('chat and its adapters', imported, (module) => {
  const telegram = module.telegram['createTelegramAdapter']?.({
    botToken: '1:x',
    secretToken: 'x',
    mode: 'webhook',
    logger: silent,
  })
  const slack = module.slack['createSlackAdapter']?.({ botToken: 'xoxb-1', signingSecret: 'x', logger: silent })
  const adapters = { telegram, slack }
  const settings = { userName: 'gw_bot', adapters, state: module.state['createMemoryState']?.({}), logger: 'silent' }
  const { webhooks } = new module.Chat(settings)
  if (webhooks['telegram'] === undefined || webhooks['slack'] === undefined) throw new Error('it takes no webhooks')
})

/** Undefined: it handed nothing on. */
export async function readByChatSdk(
  { Chat: create, state }: ChatSdk,
  adapters: Readonly<Record<string, unknown>>,
  request: Request,
): Promise<Message | undefined> {
  const [channel = ''] = Object.keys(adapters)
  const seen: Message[] = []
  const work: Promise<unknown>[] = []
  const chat = new create({ userName: 'gw_bot', adapters, state: state['createMemoryState']?.({}), logger: 'silent' })
  const keep: Handler = async (_thread, message) => void seen.push(message)
  chat.onNewMention(keep)
  chat.onDirectMessage(keep)
  chat.onNewMessage(/[\s\S]*/, keep)
  await chat.webhooks[channel]?.(request, { waitUntil: (each) => void work.push(each) })
  await Promise.all(work)
  return seen[0]
}
