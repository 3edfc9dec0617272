// The Bot API client (grammY) of one bot. Its errors carry the token in the address of the call: none may leave the adapter.

import { Api } from 'grammy/web'
import type { ChannelDeps } from '../../../src/contract/index.ts'
import { LruMap } from '../../../src/lib/index.ts'
import { botIdFromToken, type TelegramSettings } from '../config.ts'

/** The client's types name a polyfill for old runtimes; its web build takes the platform's own signal. */
export type ClientSignal = NonNullable<Parameters<Api['raw']['getMe']>[0]>

export function toClientSignal(signal: AbortSignal): ClientSignal {
  return signal as unknown as ClientSignal
}

/** Grammy's web build runs on the platform's own fetch and abort signals, on Node and on Workers alike. */
export function createBotApi(
  settings: Pick<TelegramSettings, 'botToken' | 'apiRoot' | 'callTimeoutMs'>,
  deps: Pick<ChannelDeps, 'fetch'>,
  timeoutMs = settings.callTimeoutMs,
): Api {
  return new Api(settings.botToken.reveal(), {
    apiRoot: settings.apiRoot,
    // The words of a reply are never carried to where a redirect points.
    fetch: (input: RequestInfo | URL, init?: RequestInit) => deps.fetch(input, { ...init, redirect: 'manual' }),
    timeoutSeconds: timeoutMs / 1000,
  })
}

// The bot's token is kept out of calls and errors: it stands in every address of its API.

type Token = Pick<TelegramSettings, 'botToken'>

/** Links stand beside the text and on buttons, so all of a call is looked at. */
export function containsBotToken(settings: TelegramSettings, said: unknown): boolean {
  const written = JSON.stringify(said) ?? ''
  return written.includes(settings.botToken.reveal()) || written.includes(`/bot${botIdFromToken(settings)}:`)
}

/** Words of Telegram's for people: printable, short, and without the token, whatever they repeat. */
export function redactBotToken({ botToken }: Token, words: string): string {
  const [id = '', secret = ''] = botToken.reveal().split(':')
  const hidden = words.replaceAll(`${id}:${secret}`, '…').replaceAll(secret, '…')
  return hidden.replace(/[^\x20-\x7e…]/g, ' ').slice(0, 200)
}

// Rate limits of a bot, known before Telegram has to say so: about twenty messages a minute in one group, and where it asked for

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
  const listRecentMessageTimes = (chatId: number): readonly number[] =>
    (said.get(chatId) ?? []).filter((at) => at > now() - windowMs && at <= now())
  const listRecentFrameTimes = (): readonly number[] => frames.filter((at) => at > now() - 1000 && at <= now())
  return {
    waitMs(chatId, reserve = 0) {
      // Groups and channels have negative ids.
      if (chatId >= 0) return 0
      const times = listRecentMessageTimes(chatId)
      const freedBy = times[times.length - (perMinute - reserve)]
      return freedBy === undefined ? 0 : Math.max(1, freedBy + windowMs - now())
    },
    count(chatId) {
      if (chatId >= 0) return
      said.set(chatId, [...listRecentMessageTimes(chatId), now()])
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
      const times = listRecentFrameTimes()
      const freedBy = times[times.length - framesPerSecond]
      return Math.max(0, until - now(), freedBy === undefined ? 0 : freedBy + 1000 - now())
    },
    countFrame() {
      frames = [...listRecentFrameTimes(), now()]
    },
  }
}
