// Hop 3: one Bot API update to what the gateway understands. Pure: bytes and facts in, values out.
import {
  type Arrived,
  type ArrivedMessage,
  type ArrivedNothing,
  type ChannelContext,
  type Connection,
  cleanName,
  formatAddress,
  type JsonObject,
  type KnownPart,
  mintEvidence,
  type NormalizedMessage,
  type RawArrival,
  textPart,
  UnreadableArrival,
  verifiedSender,
} from '../../src/contract/index.ts'
import { parseBoundedJson } from '../../src/verification/index.ts'
import { filePartOf } from './files/read.ts'
import {
  commandOf,
  contentFields,
  maxTextLength,
  messageFields,
  noiseFields,
  parentOf,
  serviceFields,
  type TelegramMessage,
  topicOf,
  updateSchema,
  wordsOf,
} from './wire.ts'

/** Who we are on Telegram; without a user name only replies and mentions by id can be recognised in groups. */
export type BotFacts = { readonly id: string; readonly username: string | undefined }

type Scene = {
  readonly bot: BotFacts
  readonly arrival: RawArrival
  readonly connection: Connection
  readonly message: TelegramMessage
  readonly event: 'new' | 'edit'
  readonly deliveryId: string
  readonly raw: unknown
  /** A business account's chats live beside the bot's own chats with the same ids. */
  readonly chatKey: string
}

export function normalizeTelegram(
  bot: BotFacts,
  payload: Uint8Array,
  arrival: RawArrival,
  connection: Connection,
): readonly Arrived[] {
  const json = parseBoundedJson(payload)
  if (!json.ok) throw new UnreadableArrival(json.reason)
  const parsed = updateSchema.safeParse(json.value)
  if (!parsed.success) throw new UnreadableArrival('invalid_update')
  const deliveryId = parsed.data.update_id
  const raw = json.value
  for (const [field, event] of Object.entries(messageFields)) {
    const message = parsed.data[field as keyof typeof messageFields]
    if (message === undefined) continue
    const business = message.business_connection_id
    const chatKey = business === undefined ? message.chat.id : `${business}/${message.chat.id}`
    return [fromMessage({ bot, arrival, connection, message, event, deliveryId, raw, chatKey })]
  }
  const kinds = Object.keys(raw).filter((key) => key !== 'update_id')
  const isNoise = kinds.length > 0 && kinds.every((kind) => noiseFields.has(kind))
  return [{ kind: 'ignored', reason: 'unsupported_update', isNoise, deliveryId, ...writerIn(raw, kinds), raw }]
}

/** Whose click, reaction or membership it is. */
function writerIn(
  raw: Readonly<Record<string, unknown>>,
  kinds: readonly string[],
): Partial<Pick<ArrivedNothing, 'subject'>> {
  const ids = kinds.map((kind) => (raw[kind] as { from?: { id?: unknown } } | null)?.from?.id)
  const id = ids.find((each) => typeof each === 'number' && Number.isSafeInteger(each))
  return id === undefined ? {} : { subject: `telegram:${id}` }
}

function fromMessage(scene: Scene): Arrived {
  const author = authorOf(scene.message)
  const parts = partsOf(scene.message)
  const missing = author === undefined ? 'no_author' : 'no_content'
  const reason = reasonToIgnore(scene) ?? (author === undefined || parts.length === 0 ? missing : undefined)
  if (author !== undefined && reason === undefined) return arrivedMessage(scene, author, parts)
  const { deliveryId, raw } = scene
  const subject = author === undefined ? {} : { subject: author.subject }
  return { kind: 'ignored', reason: reason ?? missing, isNoise: false, deliveryId, ...subject, raw }
}

function reasonToIgnore({ bot, message }: Scene): string | undefined {
  if (message.from?.id === bot.id || message.sender_business_bot?.id === bot.id) return 'own_message'
  if (message.is_automatic_forward === true) return 'automatic_forward'
  // Anonymous admins and channels write through placeholder bots; their sender_chat is the author.
  if (message.from?.is_bot === true && message.sender_chat === undefined) return 'from_bot'
  if (Object.keys(message).some((field) => serviceFields.has(field))) return 'service_message'
  const target = commandOf(message)?.target
  const isOthers = target !== undefined && bot.username !== undefined && !isSameName(target, bot.username)
  return isOthers ? 'command_for_other_bot' : undefined
}

function arrivedMessage(scene: Scene, author: Author, parts: readonly KnownPart[]): ArrivedMessage {
  const { bot, message, connection, chatKey, event } = scene
  const topic = topicOf(message)
  const changedAt = event === 'edit' ? (message.edit_date ?? message.date) : message.date
  const originalId = `${bot.id}:${chatKey}:${message.message_id}`
  const threadId = `${bot.id}:${chatKey}:${topic ?? 'main'}`
  const parent = parentOf(message)
  const channel = channelContext(scene, author, originalId)
  return {
    kind: 'message',
    message: {
      // An edit is a message of its own; what it amends is its target.
      id: event === 'edit' ? `${originalId}:${changedAt}` : originalId,
      thread_id: threadId,
      ...(parent === undefined ? {} : { in_reply_to: `${bot.id}:${chatKey}:${parent.message_id}` }),
      sender: senderOf(scene, author),
      recipient: recipientOf(connection),
      parts: [...parts],
      recipient_capabilities: {
        mention_relay: { kind: 'none' },
        rendering: { max_text_chars: maxTextLength, streaming: 'none', files: true, buttons: false },
      },
      received_via: 'telegram',
      received_at: scene.arrival.receivedAt,
      raw: scene.raw,
      channel,
    },
    agent: connection.agent,
    semanticId: `${chatKey}:${message.message_id}`,
    version: event === 'edit' ? String(changedAt) : '0',
    isSenderChosenId: false,
    deliveryId: scene.deliveryId,
    subject: author.subject,
    thread: { candidates: [threadId], vouched: true, fresh: threadId },
    replyTo: replyToOf(message, topic),
    // An edited command amends what was said; it is not given a second time.
    ...(channel.command === undefined || event === 'edit' ? {} : { obligation: 'command' }),
    platformAt: new Date(changedAt * 1000).toISOString(),
  }
}

type Author = {
  readonly subject: string
  readonly local: string
  readonly id: string
  readonly method: string
  readonly name: string
  readonly username: string | undefined
  readonly locale: string | undefined
}

function authorOf({ from, sender_chat, chat }: TelegramMessage): Author | undefined {
  const writer = sender_chat ?? (from === undefined ? chat : undefined)
  if (writer !== undefined) {
    if (sender_chat === undefined && chat.type !== 'channel') return undefined
    return {
      subject: `telegram:chat/${writer.id}`,
      local: `c${writer.id}`,
      id: writer.id,
      method: 'urn:gw:auth:telegram-sender-chat:v0.1',
      name: cleanName(writer.title ?? ''),
      username: writer.username,
      locale: undefined,
    }
  }
  if (from === undefined) return undefined
  return {
    subject: `telegram:${from.id}`,
    local: `u${from.id}`,
    id: from.id,
    method: 'urn:gw:auth:telegram-user:v0.1',
    name: cleanName(`${from.first_name} ${from.last_name ?? ''}`),
    username: from.username,
    locale: from.language_code,
  }
}

function senderOf({ bot, arrival, connection, message }: Scene, author: Author): NormalizedMessage['sender'] {
  const profile = {
    ...(author.name === '' ? {} : { display_name: author.name }),
    ...(author.username === undefined ? {} : { username: author.username }),
    ...(author.locale === undefined ? {} : { locale: author.locale }),
    provider: 'telegram',
    provider_subject: author.subject,
  }
  const evidence = mintEvidence({
    subject: author.subject,
    issuer: connection.domain,
    method: author.method,
    assurance: 'platform',
    recipient: recipientOf(connection),
    issuedAt: arrival.receivedAt,
    keyId: bot.id,
    claims: { chat_id: message.chat.id, chat_type: message.chat.type },
  })
  return verifiedSender([evidence], {
    address: formatAddress({ local: author.local, domain: `telegram.${connection.domain}` }),
    ...(author.name === '' ? {} : { display_name: author.name }),
    profile,
    auth_method: 'telegram-secret-token',
    key_id: bot.id,
  })
}

function channelContext(
  { bot, connection, message, event }: Scene,
  author: Author,
  originalId: string,
): ChannelContext {
  const command = commandOf(message)
  const isPublic = message.chat.type !== 'private' && message.chat.username !== undefined
  return {
    connector_id: connection.id,
    external_provider: 'telegram',
    external_conversation_id: message.chat.id,
    external_message_id: message.message_id,
    sender_id: author.id,
    room_kind: message.chat.type === 'private' ? 'dm' : message.chat.type === 'channel' ? 'channel' : 'group',
    from_self: false,
    addressed: addressedBy(bot, message, command !== undefined),
    visibility: message.chat.type === 'private' ? 'direct' : isPublic ? 'public' : 'private',
    mentions: mentionsIn(bot, message),
    event,
    ...(event === 'edit' ? { target_id: originalId } : {}),
    ...(command === undefined ? {} : { command: { name: command.name, args: command.args } }),
  }
}

function addressedBy(bot: BotFacts, message: TelegramMessage, isCommand: boolean): ChannelContext['addressed'] {
  if (isCommand) return 'command'
  if (message.chat.type === 'private') return 'dm'
  if (mentionsIn(bot, message).some((mention) => mention.subject === `telegram:${bot.id}`)) return 'mention'
  return parentOf(message)?.from?.id === bot.id ? 'reply' : 'none'
}

function mentionsIn(bot: BotFacts, message: TelegramMessage): ChannelContext['mentions'] {
  const { text, entities } = wordsOf(message)
  return entities.flatMap((entity) => {
    const shown = text.slice(entity.offset, entity.offset + entity.length)
    if (entity.type === 'text_mention' && entity.user !== undefined) {
      return [{ text: shown, subject: `telegram:${entity.user.id}` }]
    }
    if (entity.type !== 'mention') return []
    // Telegram ends the entity at a hyphen: `@my_bot-dev` is somebody else's name all the same.
    const isWhole = !/^-?\w/.test(text.slice(entity.offset + entity.length))
    const isUs = bot.username !== undefined && isWhole && isSameName(shown.slice(1), bot.username)
    return [isUs ? { text: shown, subject: `telegram:${bot.id}` } : { text: shown }]
  })
}

function partsOf(message: TelegramMessage): readonly KnownPart[] {
  const file = filePartOf(message)
  const content = file === undefined ? contentFields.find((field) => message[field] !== undefined) : undefined
  const said = [content === undefined ? '' : `[${content.replaceAll('_', ' ')}]`, message.text ?? message.caption ?? '']
  const spoken = said.filter((text) => text.trim() !== '').map((text) => textPart(text))
  const parts = file === undefined ? spoken : [file, ...spoken]
  if (parts.length === 0) return []
  const origin = message.forward_origin
  const from =
    origin?.sender_user?.first_name ?? origin?.sender_user_name ?? (origin?.sender_chat ?? origin?.chat)?.title
  const frame = [
    ...(origin === undefined ? [] : [`[forwarded from ${cleanName(from ?? '') || 'somebody else'}]`]),
    ...(message.quote === undefined ? [] : [message.quote.text.replace(/^/gm, '> ')]),
  ]
  return [...frame.map((text) => textPart(text)), ...parts]
}

function replyToOf(message: TelegramMessage, topic: string | undefined): JsonObject {
  const business = message.business_connection_id
  return {
    chat_id: message.chat.id,
    ...(topic === undefined ? {} : { message_thread_id: topic }),
    // Between two people an answer needs no pointer, and without one neighbours can share a turn.
    ...(message.chat.type === 'private' ? {} : { reply_to_message_id: message.message_id }),
    ...(business === undefined ? {} : { business_connection_id: business }),
  }
}

function recipientOf(connection: Connection): string {
  return formatAddress({ local: connection.agent, domain: connection.domain })
}

function isSameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase()
}
