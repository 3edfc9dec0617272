// A reply shown while it grows: one message that is edited, or a draft where the operator wants it.
import { GrammyError } from 'grammy/web'
import type { ChannelDeps, FrameOutcome, JsonObject, LiveFrame, LiveVerbs } from '../../../src/contract/index.ts'
import { type EntityPiece, streamTree } from '../../../src/rendering/index.ts'
import type { TelegramSettings } from '../config.ts'
import { clientSignal, telegramApi } from '../deliver/api.ts'
import { saysCredential } from '../deliver/credential.ts'
import { isUnmodified, retryAfterMs } from '../deliver/outcome.ts'
import type { Pace } from '../deliver/pace.ts'
import { piecesOf, textCall, textPayload } from '../render/text.ts'
import { replyToSchema } from '../wire/call.ts'
import { createDrafts } from './draft.ts'

const everyMs = 1200
const everyInGroupsMs = 3000
/** Of what a group takes in a minute so much is left for replies. */
const reserve = 5
/** A reader who would have to wait longer is better served by the final reply. */
const maxWaitMs = 20_000
const maxRemembered = 500

export function liveTelegram(
  settings: TelegramSettings,
  deps: Pick<ChannelDeps, 'fetch' | 'now'>,
  pace: Pace,
): LiveVerbs {
  const api = telegramApi(settings, deps)
  const shownAt = new Map<string, number>()
  const drafts = settings.streaming === 'draft' ? createDrafts(api, pace) : undefined
  return {
    everyMs,
    ...(drafts === undefined ? {} : { preview: drafts.preview }),
    open(to, text) {
      const address = replyToSchema.parse(to)
      if (address.guest_query_id !== undefined || address.reply_to_click !== undefined) return undefined
      const { method, payload } = textCall(pieceOf(text), address, true)
      // A stored call is plain JSON; the types of the client's entities do not say so.
      return { method, payload } as unknown as JsonObject
    },
    async frame(frame) {
      const to = replyToSchema.parse(frame.to)
      const chatId = Number(to.chat_id)
      // The final reply is refused for it; what grows must not have said it before.
      if (saysCredential(settings, frame.text)) return over('text_contains_credential')
      const quietMs = pace.quietMs(chatId)
      if (quietMs > 0) return { kind: 'later', afterMs: quietMs }
      const drafted = drafts?.frame(frame)
      if (drafted !== undefined) {
        pace.countFrame()
        return drafted
      }
      const key = `${chatId}:${frame.reference}`
      const waitMs = waitOf(chatId, shownAt.get(key), { now: deps.now(), pace })
      if (waitMs > 0) return { kind: 'later', afterMs: waitMs }
      const piece = pieceOf(frame.text)
      if (isSame(piece, pieceOf(frame.shown))) return isFull(frame) ? over('message_is_full') : { kind: 'shown' }
      remember(shownAt, key, deps.now())
      pace.countFrame()
      try {
        const edit = { ...textPayload(piece, to), message_id: Number(frame.reference) }
        await api.raw.editMessageText(edit, clientSignal(frame.signal))
      } catch (error) {
        if (!isUnmodified(error)) return outcomeOf(error, pace, chatId)
      }
      pace.count(chatId)
      return { kind: 'shown' }
    },
  }
}

type Timing = { readonly now: number; readonly pace: Pace }

function waitOf(chatId: number, lastAt: number | undefined, { now, pace }: Timing): number {
  const sinceLast = lastAt === undefined || chatId >= 0 ? 0 : Math.max(0, lastAt + everyInGroupsMs - now)
  return Math.max(sinceLast, pace.waitMs(chatId, reserve))
}

/** What fits into one message; the rest comes with the final reply, whose first message this one becomes. */
function pieceOf(text: string): EntityPiece {
  return piecesOf(streamTree(text, { isFinal: false }))[0] ?? { text: '…', entities: [] }
}

function isFull({ text }: LiveFrame): boolean {
  return piecesOf(streamTree(text, { isFinal: false })).length > 1
}

function isSame(one: EntityPiece, other: EntityPiece): boolean {
  return one.text === other.text && JSON.stringify(one.entities) === JSON.stringify(other.entities)
}

function outcomeOf(error: unknown, pace: Pace, chatId: number): FrameOutcome {
  if (!(error instanceof GrammyError) || error.error_code >= 500) return { kind: 'later', afterMs: everyInGroupsMs }
  if (error.error_code !== 429) return over(`telegram_${error.error_code}`)
  const afterMs = retryAfterMs(error)
  pace.hush(chatId, afterMs)
  return afterMs > maxWaitMs ? over('rate_limited') : { kind: 'later', afterMs }
}

function over(reason: string): FrameOutcome {
  return { kind: 'over', reason }
}

function remember(map: Map<string, number>, key: string, at: number): void {
  map.set(key, at)
  if (map.size <= maxRemembered) return
  const oldest = map.keys().next()
  if (!oldest.done) map.delete(oldest.value)
}
