// Polling: our own getUpdates loop. The offset moves only when the batch before was committed, so that a crash
// repeats updates and never loses one.
import { GrammyError } from 'grammy/web'
import type { ChannelDeps, PolledBatch, RawRequest } from '../../src/contract/index.ts'
import { GatewayError, sleep } from '../../src/lib/index.ts'
import type { TelegramSettings } from './config.ts'
import { createBotApi, toClientSignal } from './deliver/bot-api.ts'
import { allowedUpdates } from './wire/update.ts'

/** Telegram holds a request no longer than this. */
const longPollSeconds = 50
const firstPauseMs = 1000
const maxPauseMs = 30_000

export type SourceDeps = Pick<ChannelDeps, 'fetch' | 'now'> & {
  /** How updates that we fetched are told from requests of other clients to the webhook's path. */
  readonly headers: RawRequest['headers']
}

export function pollTelegram(
  settings: TelegramSettings,
  deps: SourceDeps,
): (cursor: string | undefined, signal: AbortSignal) => AsyncIterable<PolledBatch> {
  const api = createBotApi(settings, deps, (longPollSeconds + 10) * 1000)
  return async function* poll(cursor, signal) {
    let last = cursor === undefined ? undefined : Number(cursor)
    let pauseMs = firstPauseMs
    while (!signal.aborted) {
      const offset = last === undefined ? {} : { offset: last + 1 }
      const asked = { ...offset, timeout: longPollSeconds, limit: 100, allowed_updates: allowedUpdates }
      try {
        const updates = await api.raw.getUpdates(asked, toClientSignal(signal))
        pauseMs = firstPauseMs
        if (updates.length === 0) continue
        last = Math.max(...updates.map((update) => update.update_id))
        yield { requests: updates.map((update) => updateToRequest(update, deps)), cursor: String(last) }
      } catch (error) {
        if (signal.aborted) return
        const waitMs = retryPauseMs(error, pauseMs)
        pauseMs = Math.min(pauseMs * 2, maxPauseMs)
        await sleep(waitMs, signal)
      }
    }
  }
}

function updateToRequest(update: unknown, { now, headers }: SourceDeps): RawRequest {
  const bytes = new TextEncoder().encode(JSON.stringify(update))
  return { bytes, headers, receivedAt: new Date(now()).toISOString(), from: 'remote' }
}

/** What no waiting cures is thrown. Nothing of the client's error is: it carries the token. */
function retryPauseMs(error: unknown, pauseMs: number): number {
  if (!(error instanceof GrammyError)) return pauseMs
  const { error_code: code, parameters } = error
  if (code === 401 || code === 404) {
    throw new GatewayError('config_invalid', '[telegram] the token is not valid any more; set TELEGRAM_BOT_TOKEN anew')
  }
  if (code === 409) {
    const remedy = 'stop the other one, or run: parley telegram connect --polling'
    throw new GatewayError(
      'config_invalid',
      `[telegram] another program polls this bot, or its webhook is set; ${remedy}`,
    )
  }
  return code === 429 ? (parameters.retry_after ?? 1) * 1000 : pauseMs
}
