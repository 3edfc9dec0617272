// Keeps the bot's token out of calls and errors: it stands in every address of its API.
import { botIdFromToken, type TelegramSettings } from '../config.ts'

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
