// Rate limits of a bot, known before Telegram has to say so: about twenty messages a minute in one group, and where it asked for
import { LruMap } from '../../../src/lib/index.ts'
// quiet nothing but answers. The waits of answers are kept by the gateway, in its rows; what is counted here is lost with the process.

export interface ChatRateLimit {
  /** How long to wait before saying one more thing there; nothing is counted. */
  waitMs(chatId: number, reserve?: number): number
  count(chatId: number): void
  /** Telegram asked for quiet in a chat. Of several at once it means the whole bot. */
  hush(chatId: number, ms: number): 'conversation' | 'connection'
  /** How long live frames and typing indicators have to wait there: they yield to replies. */
  quietMs(chatId: number): number
  countFrame(): void
}

export type ChatRateLimits = {
  readonly perMinute: number
  /** Frames of all chats together: the rest of what the bot may say is for answers. */
  readonly framesPerSecond: number
}

const windowMs = 60_000
const maxChats = 2000
/** So many chats that are told to wait at once are no matter of one chat. */
const manyChats = 3
const togetherMs = 10_000

type Hushed = { readonly at: number; readonly until: number }

export function createChatRateLimit(now: () => number, { perMinute, framesPerSecond }: ChatRateLimits): ChatRateLimit {
  const said = new LruMap<number, readonly number[]>(maxChats)
  const hushed = new LruMap<number, Hushed>(maxChats)
  let allUntil = 0
  let frames: readonly number[] = []
  const recent = (chatId: number): readonly number[] =>
    (said.get(chatId) ?? []).filter((at) => at > now() - windowMs && at <= now())
  const recentFrames = (): readonly number[] => frames.filter((at) => at > now() - 1000 && at <= now())
  return {
    waitMs(chatId, reserve = 0) {
      // Groups and channels have negative ids.
      if (chatId >= 0) return 0
      const times = recent(chatId)
      const freedBy = times[times.length - (perMinute - reserve)]
      return freedBy === undefined ? 0 : Math.max(1, freedBy + windowMs - now())
    },
    count(chatId) {
      if (chatId >= 0) return
      said.set(chatId, [...recent(chatId), now()])
    },
    hush(chatId, ms) {
      hushed.set(chatId, { at: now(), until: now() + ms })
      const together = [...hushed.values()].filter(({ at }) => at > now() - togetherMs)
      if (together.length < manyChats) return 'conversation'
      allUntil = Math.max(allUntil, now() + ms)
      return 'connection'
    },
    quietMs(chatId) {
      const until = Math.max(allUntil, hushed.get(chatId)?.until ?? 0)
      const times = recentFrames()
      const freedBy = times[times.length - framesPerSecond]
      return Math.max(0, until - now(), freedBy === undefined ? 0 : freedBy + 1000 - now())
    },
    countFrame() {
      frames = [...recentFrames(), now()]
    },
  }
}
