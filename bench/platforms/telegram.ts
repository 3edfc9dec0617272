// Updates as the Bot API posts them: somebody writes to the bot in a group, by its name.
import { httpRequest, link, noLink, scene } from './http-request.ts'

export const telegramAccount = {
  botToken: '7000001:AAE-token-of-the-bench-0000000000000',
  webhookSecret: 'webhook-secret-of-the-bench-0123456789',
  botUsername: 'parley_bench_bot',
} as const

export const telegramPath = '/hooks/telegram/bench'

const name = `@${telegramAccount.botUsername}`
let nextId = 1

export function telegramRequests(_run: string, count: number, hasLink: boolean): readonly Buffer[] {
  const headers = { 'x-telegram-bot-api-secret-token': telegramAccount.webhookSecret }
  return Array.from({ length: count }, (_, index) =>
    httpRequest(telegramPath, headers, Buffer.from(JSON.stringify(update(index, hasLink)))),
  )
}

function update(index: number, hasLink: boolean): object {
  const { text, person, room } = scene(index)
  const words = `${name} ${text} `
  const id = nextId
  nextId += 1
  return {
    update_id: 900_000_000 + id,
    message: {
      message_id: id,
      from: {
        id: 5_000_000_000 + person,
        is_bot: false,
        first_name: 'Ada',
        last_name: `Person ${person}`,
        username: `person_${person}`,
        language_code: 'en',
      },
      chat: { id: -1_001_000_000_000 - room, title: 'Lamps and more', type: 'supergroup' },
      date: Math.floor(Date.now() / 1000),
      text: `${words}${hasLink ? link : noLink}`,
      entities: [
        { offset: 0, length: name.length, type: 'mention' },
        ...(hasLink ? [{ offset: words.length, length: link.length, type: 'url' }] : []),
      ],
      ...(hasLink ? { link_preview_options: { url: link } } : {}),
    },
  }
}
