// A reply shown while it grows: one message that is edited, or a draft where the operator wants it.
import { GrammyError } from 'grammy/web'
import type { ChannelDeps, FrameOutcome, JsonObject, LiveFrame, LiveVerbs } from '../../../src/contract/index.ts'
import { type EntityPiece, streamTree } from '../../../src/markdown/index.ts'
import type { TelegramSettings } from '../config.ts'
import { clientSignal, createBotApi } from '../deliver/api.ts'
import { containsBotToken } from '../deliver/credential.ts'
import { isUnmodifiedError, retryAfterMs } from '../deliver/outcome.ts'
import type { ChatRateLimit } from '../deliver/pace.ts'
import { renderPieces, textMessageCall, textPayload } from '../render/text.ts'
import { replyToSchema } from '../wire/call.ts'
import { createDrafts } from './draft.ts'

const everyMs = 1200
const everyInGroupsMs = 3000
/** Of what a group takes in a minute so much is left for replies. */
const reserve = 5
/** A reader who would have to wait longer is better served by the final reply. */
const maxWaitMs = 20_000
const maxLiveMessages = 500

export function liveTelegram(
  settings: TelegramSettings,
  deps: Pick<ChannelDeps, 'fetch' | 'now'>,
  pace: ChatRateLimit,
): LiveVerbs {
  const api = createBotApi(settings, deps)
  const shownAt = new Map<string, number>()
  const drafts = settings.streaming === 'draft' ? createDrafts(api, pace) : undefined
  return {
    everyMs,
    ...(drafts === undefined ? {} : { preview: drafts.preview }),
    open(to, text) {
      const address = replyToSchema.parse(to)
      if (address.guest_query_id !== undefined || address.reply_to_click !== undefined) return undefined
      const { method, payload } = textMessageCall(firstPiece(text), address, true)
      // A stored call is plain JSON; the types of the client's entities do not say so.
      return { method, payload } as unknown as JsonObject
    },
    async frame(frame) {
      const to = replyToSchema.parse(frame.to)
      const chatId = Number(to.chat_id)
      // The final reply is refused for it; what grows must not have said it before.
      if (containsBotToken(settings, frame.text)) return frameOver('text_contains_credential')
      const quietMs = pace.quietMs(chatId)
      if (quietMs > 0) return { kind: 'later', afterMs: quietMs }
      const drafted = drafts?.frame(frame)
      if (drafted !== undefined) {
        pace.countFrame()
        return drafted
      }
      const key = `${chatId}:${frame.reference}`
      const waitMs = editWaitMs(chatId, shownAt.get(key), { now: deps.now(), pace })
      if (waitMs > 0) return { kind: 'later', afterMs: waitMs }
      const piece = firstPiece(frame.text)
      if (isSamePiece(piece, firstPiece(frame.shown)))
        return isMessageFull(frame) ? frameOver('message_is_full') : { kind: 'shown' }
      rememberEditTime(shownAt, key, deps.now())
      pace.countFrame()
      try {
        const edit = { ...textPayload(piece, to), message_id: Number(frame.reference) }
        await api.raw.editMessageText(edit, clientSignal(frame.signal))
      } catch (error) {
        if (!isUnmodifiedError(error)) return editOutcome(error, pace, chatId)
      }
      pace.count(chatId)
      return { kind: 'shown' }
    },
  }
}

type Timing = { readonly now: number; readonly pace: ChatRateLimit }

function editWaitMs(chatId: number, lastAt: number | undefined, { now, pace }: Timing): number {
  const sinceLast = lastAt === undefined || chatId >= 0 ? 0 : Math.max(0, lastAt + everyInGroupsMs - now)
  return Math.max(sinceLast, pace.waitMs(chatId, reserve))
}

/** What fits into one message; the rest comes with the final reply, whose first message this one becomes. */
function firstPiece(text: string): EntityPiece {
  return renderPieces(streamTree(text, { isFinal: false }))[0] ?? { text: '…', entities: [] }
}

function isMessageFull({ text }: LiveFrame): boolean {
  return renderPieces(streamTree(text, { isFinal: false })).length > 1
}

function isSamePiece(one: EntityPiece, other: EntityPiece): boolean {
  return one.text === other.text && JSON.stringify(one.entities) === JSON.stringify(other.entities)
}

function editOutcome(error: unknown, pace: ChatRateLimit, chatId: number): FrameOutcome {
  if (!(error instanceof GrammyError) || error.error_code >= 500) return { kind: 'later', afterMs: everyInGroupsMs }
  if (error.error_code !== 429) return frameOver(`telegram_${error.error_code}`)
  const afterMs = retryAfterMs(error)
  pace.hush(chatId, afterMs)
  return afterMs > maxWaitMs ? frameOver('rate_limited') : { kind: 'later', afterMs }
}

function frameOver(reason: string): FrameOutcome {
  return { kind: 'over', reason }
}

function rememberEditTime(map: Map<string, number>, key: string, at: number): void {
  map.set(key, at)
  if (map.size <= maxLiveMessages) return
  const oldest = map.keys().next()
  if (!oldest.done) map.delete(oldest.value)
}
