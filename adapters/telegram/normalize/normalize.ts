// Normalizes one Bot API update. Pure: bytes and facts in, values out.
import {
  type Connection,
  type IgnoredEvent,
  type InboundEvent,
  type InboundMessage,
  type RawRequest,
  textPart,
  UnparsableEventError,
} from '../../../src/contract/index.ts'
import { type JsonObject, misfit, parseBoundedJson, readByWireRule } from '../../../src/lib/index.ts'
import { parseButtonCommand } from '../wire/calls.ts'
import {
  messageFields,
  noiseFields,
  type TelegramChat,
  type TelegramClick,
  type TelegramUpdate,
  updateRule,
} from '../wire/update.ts'
import {
  type Author,
  type BotFacts,
  chatContext,
  formatChatKey,
  forumTopicId,
  normalizedMessage,
  personAuthor,
  telegramThreadId,
  type UpdateContext,
} from './context.ts'
import { normalizeChatMessage } from './message.ts'

export function normalizeTelegram(
  bot: BotFacts,
  payload: Uint8Array,
  rawRequest: RawRequest,
  connection: Connection,
): readonly InboundEvent[] {
  const json = parseBoundedJson(payload)
  if (!json.ok) throw new UnparsableEventError(json.reason)
  const update = readByWireRule(updateRule, json.value)
  if (update === misfit) throw new UnparsableEventError('invalid_update')
  const updateContext = { bot, rawRequest, connection, deliveryId: update.update_id, raw: json.value }
  for (const [field, event] of Object.entries(messageFields)) {
    const message = update[field as keyof typeof messageFields]
    if (message !== undefined) return [normalizeChatMessage(updateContext, message, event)]
  }
  if (update.callback_query !== undefined) return [normalizeButtonPress(updateContext, update.callback_query)]
  if (update.stopped_message_generation !== undefined)
    return [normalizeStopRequest(updateContext, update.stopped_message_generation)]
  if (update.deleted_business_messages !== undefined)
    return normalizeDeletedMessages(updateContext, update.deleted_business_messages)
  if (update.my_chat_member !== undefined) return [normalizeMembership(updateContext, update.my_chat_member)]
  return [ignoredUpdate(updateContext, json.value)]
}

/** Who deleted is not said. In such a chat the other side is a person, and only what they wrote themselves is taken back. */
function normalizeDeletedMessages(
  updateContext: UpdateContext,
  deleted: NonNullable<TelegramUpdate['deleted_business_messages']>,
): readonly InboundMessage[] {
  const { bot, connection, deliveryId } = updateContext
  const { chat, message_ids: ids } = deleted
  const chatKey = formatChatKey(deleted)
  const thread = telegramThreadId(bot, chatKey, undefined)
  const author = personAuthor({ id: chat.id, is_bot: false, first_name: '' })
  return ids.map((id) => {
    const targetId = `${bot.id}:${chatKey}:${id}`
    const channel = chatContext(updateContext, {
      chat,
      author,
      messageId: id,
      addressed: 'dm',
      event: 'delete',
      targetId,
    })
    const facts = { id: `${targetId}:deleted`, thread_id: thread, parts: [textPart('')], chat, author, channel }
    return {
      kind: 'message',
      message: normalizedMessage(updateContext, facts),
      agent: connection.agent,
      semanticId: `${chatKey}:${id}`,
      version: 'deleted',
      isSenderChosenId: false,
      deliveryId,
      subject: author.subject,
      thread: { candidates: [thread], platformVerified: true, newThreadKey: thread },
      replyTo: { chat_id: chat.id, business_connection_id: deleted.business_connection_id },
    }
  })
}

/** What becomes of the bot in a chat decides whether anything can be sent there. */
function normalizeMembership(
  updateContext: UpdateContext,
  change: NonNullable<TelegramUpdate['my_chat_member']>,
): IgnoredEvent {
  const { chat, from, date } = change
  const { status, is_member: isMember, can_send_messages: maySend } = change.new_chat_member
  const isGone = status === 'kicked' || status === 'left' || (status === 'restricted' && isMember === false)
  const isMuted = status === 'restricted' && maySend === false
  const isPrivate = chat.type === 'private'
  const gone = isPrivate ? 'blocked_by_user' : 'removed_from_chat'
  const closed = isGone ? gone : isMuted ? 'muted_in_chat' : null
  return {
    kind: 'ignored',
    reason: closed ?? (isPrivate ? 'unblocked_by_user' : 'added_to_chat'),
    isNoise: false,
    deliveryId: updateContext.deliveryId,
    subject: personAuthor(from).subject,
    roomStatus: { room: chat.id, closed, at: new Date(date * 1000).toISOString() },
    raw: updateContext.raw,
  }
}

function ignoredUpdate({ deliveryId, raw }: UpdateContext, fields: Readonly<Record<string, unknown>>): IgnoredEvent {
  const kinds = Object.keys(fields).filter((key) => key !== 'update_id')
  const isNoise = kinds.length > 0 && kinds.every((kind) => noiseFields.has(kind))
  return { kind: 'ignored', reason: 'unsupported_update', isNoise, deliveryId, ...subjectOfUpdate(fields, kinds), raw }
}

/** Whose reaction, membership or payment it is. */
function subjectOfUpdate(
  raw: Readonly<Record<string, unknown>>,
  kinds: readonly string[],
): Partial<Pick<IgnoredEvent, 'subject'>> {
  const ids = kinds.map((kind) => (raw[kind] as { from?: { id?: unknown } } | null)?.from?.id)
  const id = ids.find((each) => typeof each === 'number' && Number.isSafeInteger(each))
  return id === undefined ? {} : { subject: `telegram:${id}` }
}

// A press on one of our buttons, and on Telegram's own stop button, is the command it stands for. Pure.

type ButtonPress = {
  readonly id: string
  readonly author: Author
  readonly chat: TelegramChat
  readonly threadId: string
  readonly command: { readonly name: string; readonly args: string }
  readonly replyTo: JsonObject
}

/** The person who presses is the sender, also where they write anonymously; what a client sends back proves no button. */
function normalizeButtonPress(updateContext: UpdateContext, click: TelegramClick): InboundEvent {
  const author = personAuthor(click.from)
  const command = parseButtonCommand(click.data ?? '')
  if (command === undefined || click.from.is_bot) {
    const { deliveryId, raw } = updateContext
    return { kind: 'ignored', reason: 'unknown_button', isNoise: false, deliveryId, subject: author.subject, raw }
  }
  const card = click.message ?? { chat: { id: click.from.id, type: 'private' } }
  const topic = click.message === undefined ? undefined : forumTopicId(click.message)
  const { business_connection_id: business } = click.message ?? {}
  const pressed = {
    id: click.id,
    ...(click.message === undefined ? {} : { message_id: click.message.message_id }),
    ...(click.inline_message_id === undefined ? {} : { inline_message_id: click.inline_message_id }),
  }
  return buttonPressMessage(updateContext, {
    id: `click:${click.id}`,
    author,
    chat: card.chat,
    threadId: telegramThreadId(updateContext.bot, formatChatKey(card), topic),
    command,
    replyTo: {
      chat_id: card.chat.id,
      ...(topic === undefined ? {} : { message_thread_id: topic }),
      ...(business === undefined ? {} : { business_connection_id: business }),
      reply_to_click: pressed,
    },
  })
}

/** Only private chats have drafts that can be stopped, so whose chat it is pressed the button. */
function normalizeStopRequest(
  updateContext: UpdateContext,
  stopped: NonNullable<TelegramUpdate['stopped_message_generation']>,
): InboundEvent {
  const { chat, message_thread_id: topic, draft_id: draft } = stopped
  return buttonPressMessage(updateContext, {
    id: `stop:${chat.id}:${draft}`,
    author: personAuthor({ id: chat.id, is_bot: false, first_name: '' }),
    chat,
    threadId: telegramThreadId(updateContext.bot, chat.id, topic),
    command: { name: 'stop', args: '' },
    replyTo: { chat_id: chat.id, ...(topic === undefined ? {} : { message_thread_id: topic }) },
  })
}

function buttonPressMessage(
  updateContext: UpdateContext,
  { id, author, chat, threadId, command, replyTo }: ButtonPress,
): InboundMessage {
  const channel = chatContext(updateContext, {
    chat,
    author,
    messageId: null,
    addressed: 'command',
    event: 'new',
    command,
  })
  return {
    kind: 'message',
    message: normalizedMessage(updateContext, {
      id: `${updateContext.bot.id}:${id}`,
      thread_id: threadId,
      parts: [textPart(`/${command.name} ${command.args}`.trim())],
      chat,
      author,
      channel,
    }),
    agent: updateContext.connection.agent,
    semanticId: id,
    version: '0',
    isSenderChosenId: false,
    deliveryId: updateContext.deliveryId,
    subject: author.subject,
    thread: { candidates: [threadId], platformVerified: true, newThreadKey: threadId },
    replyTo,
    mustReplyIndividually: 'click',
  }
}
