// The Bot API client (grammY) of one bot. Its errors carry the token in the address of the call: none may leave the adapter.
import { Api } from 'grammy/web'
import type { ChannelDeps } from '../../../src/contract/index.ts'
import { botIdFromToken, type TelegramSettings } from '../config.ts'

/** The client's types name a polyfill for old runtimes; its web build takes the platform's own signal. */
export type ClientSignal = NonNullable<Parameters<Api['raw']['getMe']>[0]>

export function clientSignal(signal: AbortSignal): ClientSignal {
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
    fetch: (input: RequestInfo | URL, init?: RequestInit) => deps.fetch(input, init),
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
