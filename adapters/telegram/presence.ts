// Presence on Telegram: "… is typing", and eyes on a message that waits. At most once, outside the ledger; a wait that Telegram asks for is kept.
import { GrammyError } from 'grammy/web'
import type { Adapter, ChannelDeps } from '../../src/contract/index.ts'
import { LruMap } from '../../src/lib/index.ts'
import type { TelegramSettings } from './config.ts'
import { type ChatRateLimit, createBotApi, toClientSignal } from './deliver/bot-api.ts'
import { replyToSchema } from './wire/calls.ts'

const timeoutMs = 3000
/** One of the few emoji that bots may set (Bot API, `ReactionTypeEmoji`). */
const eyes = { type: 'emoji', emoji: '👀' } as const
/** Beyond it the marks of messages that were never taken up here are left where they are. */
const maxRemembered = 10_000
/** A message that waited so long may have been marked by another process, or by this one before it was started again. */
const mayBeMarkedMs = 1_000

export function showTelegramPresence(
  settings: TelegramSettings,
  deps: Pick<ChannelDeps, 'fetch' | 'now'>,
  pace: Pick<ChatRateLimit, 'quietMs'>,
): NonNullable<Adapter['presence']>['show'] {
  const api = createBotApi(settings, deps, timeoutMs)
  let quietUntil = 0
  const marked = new LruMap<string, true>(maxRemembered)
  return async (to, what, about) => {
    const { chat_id, message_thread_id: topic, business_connection_id: business, ...rest } = replyToSchema.parse(to)
    // A guest may not show itself in the chat, and a person who pressed a button is told at once.
    if (rest.direct_messages_topic_id !== undefined) return
    if (rest.guest_query_id !== undefined || rest.reply_to_click !== undefined || deps.now() < quietUntil) return
    if (pace.quietMs(Number(chat_id)) > 0) return
    const place = {
      chat_id: Number(chat_id),
      ...(topic === undefined ? {} : { message_thread_id: Number(topic) }),
      ...(business === undefined ? {} : { business_connection_id: business }),
    }
    const signal = toClientSignal(AbortSignal.timeout(timeoutMs))
    const messageId = Number(about?.messageId)
    const mark = `${chat_id}:${messageId}`
    try {
      if (what === 'typing') await api.raw.sendChatAction({ ...place, action: what }, signal)
      // Its own bot's chats only: in the name of a business account nothing is marked.
      if (!settings.receipts || !Number.isSafeInteger(messageId) || business !== undefined) return
      if (what === 'waiting') {
        marked.set(mark, true)
        await api.raw.setMessageReaction({ chat_id: place.chat_id, message_id: messageId, reaction: [eyes] }, signal)
      } else if (what === 'seen' && (marked.delete(mark) || (about?.waitedMs ?? 0) >= mayBeMarkedMs))
        await api.raw.setMessageReaction({ chat_id: place.chat_id, message_id: messageId, reaction: [] }, signal)
    } catch (error) {
      const seconds = error instanceof GrammyError ? (error.parameters.retry_after ?? 0) : 0
      quietUntil = deps.now() + seconds * 1000
    }
  }
}
