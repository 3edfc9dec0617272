// Grammy's client for one bot. Its errors carry the token in the address of the call: none may leave the adapter.
import { Api } from 'grammy/web'
import type { ChannelDeps } from '../../../src/contract/index.ts'
import type { TelegramSettings } from '../config.ts'

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
