// A message in a group that is for the bot: its first letter names it, by id, so that no word of the text is lost on it.
import { testBotToken } from './telegram-api.ts'

export function namingBot(token: string = testBotToken): readonly object[] {
  const user = { id: Number(token.split(':')[0]), is_bot: true, first_name: 'Bot' }
  return [{ type: 'text_mention', offset: 0, length: 1, user }]
}
