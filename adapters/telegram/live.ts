// Live messages on Telegram: one message that is edited, or a draft where the operator wants it.
import { type Api, GrammyError } from 'grammy/web'
import type { ChannelDeps, FrameOutcome, LiveFrame, LiveVerbs } from '../../src/contract/index.ts'
import { type JsonObject, LruMap } from '../../src/lib/index.ts'
import { streamTree } from '../../src/markdown/index.ts'
import type { TelegramSettings } from './config.ts'
import { type ChatRateLimit, containsBotToken, createBotApi, toClientSignal } from './deliver/bot-api.ts'
import { isUnmodifiedError, retryAfterMs } from './deliver/outcome.ts'
import type { EntityPiece } from './render/entities.ts'
import { renderMessagePieces, textMessageCall, textPayload } from './render/text.ts'
import { replyToSchema, type TelegramReplyTo } from './wire/calls.ts'

const everyMs = 1200
const everyInGroupsMs = 3000
/** Of what a group takes in a minute so much is left for replies. */
const reserve = 5
/** A reader who would have to wait longer is better served by the final reply. */
const maxWaitMs = 20_000
const maxLiveMessages = 500

export function createTelegramLiveUpdates(
  settings: TelegramSettings,
  deps: Pick<ChannelDeps, 'fetch' | 'now'>,
  pace: ChatRateLimit,
): LiveVerbs {
  const api = createBotApi(settings, deps)
  const shownAt = new LruMap<string, number>(maxLiveMessages)
  const drafts = settings.streaming === 'draft' ? createDraftPreviews(api, pace) : undefined
  return {
    everyMs,
    ...(drafts === undefined ? {} : { preview: drafts.preview }),
    open(to, text) {
      const address = replyToSchema.parse(to)
      if (address.guest_query_id !== undefined || address.reply_to_click !== undefined) return undefined
      const { method, payload } = textMessageCall(renderFirstPiece(text), address, true)
      // A stored call is plain JSON; the types of the client's entities do not say so.
      return { method, payload } as unknown as JsonObject
    },
    async frame(frame) {
      const to = replyToSchema.parse(frame.to)
      const chatId = Number(to.chat_id)
      // The final reply is refused for it; what grows must not have said it before.
      if (containsBotToken(settings, frame.text)) return endedFrameOutcome('text_contains_credential')
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
      const piece = renderFirstPiece(frame.text)
      if (isSameEntityPiece(piece, renderFirstPiece(frame.shown)))
        return exceedsOneMessage(frame) ? endedFrameOutcome('message_is_full') : { kind: 'shown' }
      shownAt.set(key, deps.now())
      pace.countFrame()
      try {
        const edit = { ...textPayload(piece, to), message_id: Number(frame.reference) }
        await api.raw.editMessageText(edit, toClientSignal(frame.signal))
      } catch (error) {
        if (!isUnmodifiedError(error)) return editErrorOutcome(error, pace, chatId)
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
function renderFirstPiece(text: string): EntityPiece {
  return renderMessagePieces(streamTree(text, { isFinal: false }))[0] ?? { text: '…', entities: [] }
}

function exceedsOneMessage({ text }: LiveFrame): boolean {
  return renderMessagePieces(streamTree(text, { isFinal: false })).length > 1
}

function isSameEntityPiece(one: EntityPiece, other: EntityPiece): boolean {
  return one.text === other.text && JSON.stringify(one.entities) === JSON.stringify(other.entities)
}

function editErrorOutcome(error: unknown, pace: ChatRateLimit, chatId: number): FrameOutcome {
  if (!(error instanceof GrammyError) || error.error_code >= 500) return { kind: 'later', afterMs: everyInGroupsMs }
  if (error.error_code !== 429) return endedFrameOutcome(`telegram_${error.error_code}`)
  const afterMs = retryAfterMs(error)
  pace.hush(chatId, afterMs)
  return afterMs > maxWaitMs ? endedFrameOutcome('rate_limited') : { kind: 'later', afterMs }
}

function endedFrameOutcome(reason: string): FrameOutcome {
  return { kind: 'over', reason }
}

// A reply shown as a draft: words that are no message yet, in private chats only. A draft has no id and vanishes half
// a minute after its last words, or when anything is sent; so nothing has to finish it, and the reply is a message of its own.

const draftEveryMs = 700
const refreshMs = 20_000
const maxFailures = 3
const failurePauseMs = 3000
const maxDrafts = 1000
const draftPrefix = 'draft:'

export interface Drafts {
  readonly preview: NonNullable<LiveVerbs['preview']>
  /** Undefined: the frame is not one of a draft. */
  frame(frame: LiveFrame): Promise<FrameOutcome> | undefined
}

/** What is remembered here costs one refused call when it is forgotten. */
type DraftMemory = {
  readonly pace: Pick<ChatRateLimit, 'hush'>
  readonly refused: Set<string>
  readonly failures: Map<string, number>
  isUnknownMethod: boolean
}

function createDraftPreviews(api: Api, pace: Pick<ChatRateLimit, 'hush'>): Drafts {
  const memory: DraftMemory = { pace, refused: new Set(), failures: new LruMap(maxDrafts), isUnknownMethod: false }
  return {
    preview(given, turnId) {
      const to = replyToSchema.parse(given)
      const isRefused = memory.isUnknownMethod || memory.refused.has(to.chat_id)
      return isRefused || !isOwnPrivateChat(to)
        ? undefined
        : { reference: draftReference(turnId), everyMs: draftEveryMs, refreshMs }
    },
    frame: (frame) => (frame.reference.startsWith(draftPrefix) ? showDraft(api, memory, frame) : undefined),
  }
}

/** Of a business account, of a guest and of a press the chat is not the bot's own. */
function isOwnPrivateChat({
  chat_id,
  business_connection_id,
  guest_query_id,
  reply_to_click,
}: TelegramReplyTo): boolean {
  const isOwn = business_connection_id === undefined && guest_query_id === undefined && reply_to_click === undefined
  return isOwn && Number(chat_id) > 0
}

/** The same for every attempt of a turn, so that a new one goes on where the last one stopped; never zero. */
function draftReference(turnId: string): string {
  return `${draftPrefix}${(Number.parseInt(turnId.replaceAll('-', '').slice(-7), 16) || 0) + 1}`
}

async function showDraft(
  api: Api,
  memory: DraftMemory,
  { reference, to: given, text, signal }: LiveFrame,
): Promise<FrameOutcome> {
  const to = replyToSchema.parse(given)
  // What does not fit is cut at the top: people read the end of what grows.
  const piece = renderMessagePieces(streamTree(text, { isFinal: false })).at(-1) ?? { text: '', entities: [] }
  const draft = {
    chat_id: Number(to.chat_id),
    draft_id: Number(reference.slice(draftPrefix.length)),
    text: piece.text,
    ...(piece.entities.length === 0 ? {} : { entities: [...piece.entities] }),
    ...(to.message_thread_id === undefined ? {} : { message_thread_id: Number(to.message_thread_id) }),
    can_stop: true,
    keep_on_stop: true,
  }
  try {
    await api.raw.sendMessageDraft(draft, toClientSignal(signal))
    memory.failures.delete(reference)
    return { kind: 'shown' }
  } catch (error) {
    return refusedDraftOutcome(memory, { error, reference, chatId: to.chat_id })
  }
}

type Failed = { readonly error: unknown; readonly reference: string; readonly chatId: string }

function refusedDraftOutcome(memory: DraftMemory, { error, reference, chatId }: Failed): FrameOutcome {
  if (!(error instanceof GrammyError) || error.error_code >= 500) return failedDraftOutcome(memory, reference)
  const { error_code: code, description } = error
  if (code === 429) {
    const afterMs = retryAfterMs(error)
    memory.pace.hush(Number(chatId), afterMs)
    return afterMs > refreshMs ? { kind: 'over', reason: 'rate_limited' } : { kind: 'later', afterMs }
  }
  const isUnknownMethod = code === 404
  if (!isUnknownMethod && !/DRAFT_PEER_INVALID/i.test(description)) return { kind: 'over', reason: `telegram_${code}` }
  if (isUnknownMethod) memory.isUnknownMethod = true
  else rememberRefusedChat(memory.refused, chatId)
  return { kind: 'unavailable', reason: isUnknownMethod ? 'drafts_unknown' : 'drafts_refused' }
}

/** A fault of the moment does not turn a draft into hundreds of edits: it is tried again, and then given up. */
function failedDraftOutcome({ failures }: DraftMemory, reference: string): FrameOutcome {
  const count = (failures.get(reference) ?? 0) + 1
  if (count >= maxFailures) {
    failures.delete(reference)
    return { kind: 'over', reason: 'drafts_fail' }
  }
  failures.set(reference, count)
  return { kind: 'later', afterMs: failurePauseMs }
}

function rememberRefusedChat(set: Set<string>, value: string): void {
  if (set.size >= maxDrafts) set.clear()
  set.add(value)
}
