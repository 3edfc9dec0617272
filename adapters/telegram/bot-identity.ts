// The bot's user name, by which mentions and commands in groups are known: asked once where the settings do not say it.
import type { TelegramSettings } from './config.ts'
import { createBotApi, toClientSignal } from './deliver/bot-api.ts'

const askTimeoutMs = 1500
/** After a failure no update waits again for so long. */
const pauseMs = 60_000

export type BotName = {
  readonly known: () => string | undefined
  /** Resolves when the name is known, or when it could not be learnt now. */
  readonly learn: () => Promise<void>
}

export function createBotNameLookup(
  settings: TelegramSettings,
  deps: { readonly fetch: typeof fetch; readonly now: () => number },
): BotName {
  let name = settings.botUsername
  let asked: { readonly at: number; readonly answer: Promise<void> } | undefined
  const askBotName = async (): Promise<void> => {
    const me = await createBotApi(settings, deps).getMe(toClientSignal(AbortSignal.timeout(askTimeoutMs)))
    if (typeof me.username === 'string') name = me.username
  }
  return {
    known: () => name,
    async learn() {
      if (name !== undefined) return
      // The client's error carries the token; what is wrong with it the probe tells.
      if (asked === undefined || deps.now() - asked.at >= pauseMs)
        asked = { at: deps.now(), answer: askBotName().catch(() => {}) }
      await asked.answer
    },
  }
}
