// Hop 3: normalizes one Bot API update. Pure: bytes and facts in, values out.
import {
  type Arrived,
  type ArrivedMessage,
  type ArrivedNothing,
  type Connection,
  type RawArrival,
  textPart,
  UnreadableArrival,
} from '../../../src/contract/index.ts'
import { misfit, parseBoundedJson } from '../../../src/verification/index.ts'
import { messageFields, noiseFields } from '../wire/fields.ts'
import { readUpdate, type TelegramUpdate } from '../wire/message.ts'
import { personOf } from './author.ts'
import { fromClick, fromStop } from './click.ts'
import { contextOf, normalizedMessage } from './context.ts'
import { fromMessage } from './message.ts'
import { type BotFacts, chatKeyOf, type Scene, threadOf } from './scene.ts'

export function normalizeTelegram(
  bot: BotFacts,
  payload: Uint8Array,
  arrival: RawArrival,
  connection: Connection,
): readonly Arrived[] {
  const json = parseBoundedJson(payload)
  if (!json.ok) throw new UnreadableArrival(json.reason)
  const update = readUpdate(json.value)
  if (update === misfit) throw new UnreadableArrival('invalid_update')
  const scene = { bot, arrival, connection, deliveryId: update.update_id, raw: json.value }
  for (const [field, event] of Object.entries(messageFields)) {
    const message = update[field as keyof typeof messageFields]
    if (message !== undefined) return [fromMessage(scene, message, event)]
  }
  if (update.callback_query !== undefined) return [fromClick(scene, update.callback_query)]
  if (update.stopped_message_generation !== undefined) return [fromStop(scene, update.stopped_message_generation)]
  if (update.deleted_business_messages !== undefined) return fromDeleted(scene, update.deleted_business_messages)
  if (update.my_chat_member !== undefined) return [fromMembership(scene, update.my_chat_member)]
  return [nothingSaid(scene, json.value)]
}

/** Who deleted is not said. In such a chat the other side is a person, and only what they wrote themselves is taken back. */
function fromDeleted(
  scene: Scene,
  deleted: NonNullable<TelegramUpdate['deleted_business_messages']>,
): readonly ArrivedMessage[] {
  const { bot, connection, deliveryId } = scene
  const { chat, message_ids: ids } = deleted
  const chatKey = chatKeyOf(deleted)
  const thread = threadOf(bot, chatKey, undefined)
  const author = personOf({ id: chat.id, is_bot: false, first_name: '' })
  return ids.map((id) => {
    const targetId = `${bot.id}:${chatKey}:${id}`
    const channel = contextOf(scene, { chat, author, messageId: id, addressed: 'dm', event: 'delete', targetId })
    const facts = { id: `${targetId}:deleted`, thread_id: thread, parts: [textPart('')], chat, author, channel }
    return {
      kind: 'message',
      message: normalizedMessage(scene, facts),
      agent: connection.agent,
      semanticId: `${chatKey}:${id}`,
      version: 'deleted',
      isSenderChosenId: false,
      deliveryId,
      subject: author.subject,
      thread: { candidates: [thread], vouched: true, fresh: thread },
      replyTo: { chat_id: chat.id, business_connection_id: deleted.business_connection_id },
    }
  })
}

/** What becomes of the bot in a chat decides whether anything can be sent there. */
function fromMembership(scene: Scene, change: NonNullable<TelegramUpdate['my_chat_member']>): ArrivedNothing {
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
    deliveryId: scene.deliveryId,
    subject: personOf(from).subject,
    reach: { place: chat.id, closed, at: new Date(date * 1000).toISOString() },
    raw: scene.raw,
  }
}

function nothingSaid({ deliveryId, raw }: Scene, fields: Readonly<Record<string, unknown>>): ArrivedNothing {
  const kinds = Object.keys(fields).filter((key) => key !== 'update_id')
  const isNoise = kinds.length > 0 && kinds.every((kind) => noiseFields.has(kind))
  return { kind: 'ignored', reason: 'unsupported_update', isNoise, deliveryId, ...writerIn(fields, kinds), raw }
}

/** Whose reaction, membership or payment it is. */
function writerIn(
  raw: Readonly<Record<string, unknown>>,
  kinds: readonly string[],
): Partial<Pick<ArrivedNothing, 'subject'>> {
  const ids = kinds.map((kind) => (raw[kind] as { from?: { id?: unknown } } | null)?.from?.id)
  const id = ids.find((each) => typeof each === 'number' && Number.isSafeInteger(each))
  return id === undefined ? {} : { subject: `telegram:${id}` }
}
