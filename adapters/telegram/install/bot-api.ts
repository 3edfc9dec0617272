// Bot API calls of the command line. What goes wrong is told in our words: the client's errors carry the token.
import { type Api, GrammyError } from 'grammy/web'
import { type CommandDesk, GatewayError } from '../../../src/contract/index.ts'
import { type TelegramSettings, telegramSettingsSchema } from '../config.ts'
import { telegramApi } from '../deliver/api.ts'
import { shownWords } from '../deliver/credential.ts'

export type Bench = { readonly api: Api; readonly settings: TelegramSettings; readonly publicUrl: string | undefined }

export async function openBench(
  desk: CommandDesk,
  connection: string,
  instead: Readonly<Record<string, string>> = {},
): Promise<Bench> {
  const found = await desk.settings(connection, instead)
  if (found === undefined) {
    const remedy = 'set TELEGRAM_BOT_TOKEN to the token BotFather gave you, or name it in parley.config.ts'
    throw new GatewayError('config_invalid', `[telegram] there is no connection ${connection}; ${remedy}`)
  }
  const settings = telegramSettingsSchema.parse(found.settings)
  return { api: telegramApi(settings, desk), settings, publicUrl: found.publicUrl }
}

export async function ask<T>({ settings }: Pick<Bench, 'settings'>, what: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    throw new GatewayError('conflict', `[telegram] ${what} failed: ${wordsFor(settings, error)}`)
  }
}

function wordsFor(settings: TelegramSettings, error: unknown): string {
  if (!(error instanceof GrammyError)) return 'the Bot API cannot be reached; check the network and TELEGRAM_API_ROOT'
  if (error.error_code === 401 || error.error_code === 404) return 'the token is not valid; set TELEGRAM_BOT_TOKEN anew'
  return `Telegram says “${shownWords(settings, error.description)}”; correct it and try again`
}
