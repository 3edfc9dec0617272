// Hop 3: one Bot API update to what the gateway understands. Pure: bytes and facts in, values out.
import {
  type Arrived,
  type ArrivedMessage,
  type ArrivedNothing,
  type Connection,
  type RawArrival,
  textPart,
  UnreadableArrival,
} from '../../../src/contract/index.ts'
import { parseBoundedJson } from '../../../src/verification/index.ts'
import { messageFields, noiseFields } from '../wire/fields.ts'
import { type TelegramUpdate, updateSchema } from '../wire/message.ts'
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
  const parsed = updateSchema.safeParse(json.value)
  if (!parsed.success) throw new UnreadableArrival('invalid_update')
  const update = parsed.data
  const scene = { bot, arrival, connection, deliveryId: update.update_id, raw: json.value }
  for (const [field, event] of Object.entries(messageFields)) {
    const message = update[field as keyof typeof messageFields]
    if (message !== undefined) return [fromMessage(scene, message, event)]
  }
  if (update.callback_query !== undefined) return [fromClick(scene, update.callback_query)]
  if (update.stopped_message_generation !== undefined) return [fromStop(scene, update.stopped_message_generation)]
  if (update.deleted_business_messages !== undefined) return fromDeleted(scene, update.deleted_business_messages)
  return [nothingSaid(scene, update, json.value)]
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

function nothingSaid(
  { deliveryId, raw }: Scene,
  update: TelegramUpdate,
  fields: Readonly<Record<string, unknown>>,
): ArrivedNothing {
  const kinds = Object.keys(fields).filter((key) => key !== 'update_id')
  const isNoise = kinds.length > 0 && kinds.every((kind) => noiseFields.has(kind))
  const reason = membershipReason(update.my_chat_member) ?? 'unsupported_update'
  return { kind: 'ignored', reason, isNoise, deliveryId, ...writerIn(fields, kinds), raw }
}

/** Told so that an operator can see why nothing arrives any more: Telegram itself refuses what is sent then. */
function membershipReason(change: TelegramUpdate['my_chat_member']): string | undefined {
  if (change === undefined) return undefined
  const isGone = change.new_chat_member.status === 'kicked' || change.new_chat_member.status === 'left'
  if (change.chat.type === 'private') return isGone ? 'blocked_by_user' : 'unblocked_by_user'
  return isGone ? 'removed_from_chat' : 'added_to_chat'
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
