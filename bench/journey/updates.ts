// Updates of the journey: a person writes to the bot in a private chat, about half a kilobyte. The text begins with a number, which
// the reply repeats, so that the stand-in knows what was answered.
import { httpRequest, noLink, scene } from '../platforms/http-request.ts'
import { telegramAccount, telegramPath } from '../platforms/telegram.ts'

const headers = { 'x-telegram-bot-api-secret-token': telegramAccount.webhookSecret }

/** What every agent of the journey answers to a text. */
export function answerUpdate(text: string): string {
  return `${text.split(' ', 1)[0]} seen`
}

/** The number that a reply is for, or undefined where it is for none. */
export function readReplyNumber(text: string): number | undefined {
  const found = /^m(\d{1,9}) seen$/.exec(text.trim())?.[1]
  return found === undefined ? undefined : Number(found)
}

/** The bytes of a whole webhook request. `number` is unique for a subject. */
export function createUpdateRequest(number: number, person: number): Buffer {
  return httpRequest(telegramPath, headers, Buffer.from(JSON.stringify(createUpdate(number, person))))
}

export function createUpdate(number: number, person: number): object {
  const id = 5_000_000_000 + person
  const name = { first_name: 'Ada', last_name: `Person ${person}`, username: `person_${person}` }
  return {
    update_id: 100_000_000 + number,
    message: {
      message_id: number,
      from: { id, is_bot: false, ...name, language_code: 'en' },
      chat: { id, ...name, type: 'private' },
      date: Math.floor(Date.now() / 1000),
      text: `m${number} ${scene(number).text} ${noLink}`,
    },
  }
}
