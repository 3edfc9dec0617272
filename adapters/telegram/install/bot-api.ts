// Bot API calls of the command line. What goes wrong is told in our words: the client's errors carry the token.
import { type Api, GrammyError } from 'grammy/web'
import { type CommandContext, GatewayError } from '../../../src/contract/index.ts'
import { type TelegramSettings, telegramSettingsSchema } from '../config.ts'
import { createBotApi } from '../deliver/api.ts'
import { redactBotToken } from '../deliver/credential.ts'

export type BotSession = {
  readonly api: Api
  readonly settings: TelegramSettings
  readonly publicUrl: string | undefined
}

export async function openBotSession(
  desk: CommandContext,
  connection: string,
  instead: Readonly<Record<string, string>> = {},
): Promise<BotSession> {
  const found = await desk.settings(connection, instead)
  if (found === undefined) {
    const remedy = 'set TELEGRAM_BOT_TOKEN to the token BotFather gave you, or name it in parley.config.ts'
    throw new GatewayError('config_invalid', `[telegram] there is no connection ${connection}; ${remedy}`)
  }
  const settings = telegramSettingsSchema.parse(found.settings)
  return { api: createBotApi(settings, desk), settings, publicUrl: found.publicUrl }
}

export async function askBotApi<T>(
  { settings }: Pick<BotSession, 'settings'>,
  what: string,
  call: () => Promise<T>,
): Promise<T> {
  try {
    return await call()
  } catch (error) {
    throw new GatewayError('conflict', `[telegram] ${what} failed: ${describeApiError(settings, error)}`)
  }
}

function describeApiError(settings: TelegramSettings, error: unknown): string {
  if (!(error instanceof GrammyError)) return 'the Bot API cannot be reached; check the network and TELEGRAM_API_ROOT'
  if (error.error_code === 401 || error.error_code === 404) return 'the token is not valid; set TELEGRAM_BOT_TOKEN anew'
  return `Telegram says “${redactBotToken(settings, error.description)}”; correct it and try again`
}
