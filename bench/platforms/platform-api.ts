// What the libraries of others ask a platform for before they hand a message on: who the bot is, who a person is. It runs
// with the driver, so that answering costs no subject anything.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { slackAccount } from './slack.ts'
import { telegramAccount } from './telegram.ts'

const bot = {
  id: Number(telegramAccount.botToken.split(':')[0]),
  is_bot: true,
  first_name: 'Bench',
  username: telegramAccount.botUsername,
}
/** By method; whatever else is asked for succeeds and says nothing. */
const answers: Readonly<Record<string, object>> = {
  getMe: { ok: true, result: bot },
  'auth.test': { ok: true, user_id: slackAccount.botUserId, bot_id: 'B0PARLEY1', team_id: 'T0PARLEY1', user: 'bench' },
  'users.info': {
    ok: true,
    user: { id: 'U0PERSON000', name: 'ada', real_name: 'Ada', profile: { display_name: 'Ada' } },
  },
  'conversations.info': { ok: true, channel: { id: 'C0ROOM0000', name: 'lamps', is_channel: true } },
  getWebhookInfo: { ok: true, result: { url: 'https://127.0.0.1/', pending_update_count: 0 } },
}
const nothing = { ok: true, result: true }

export type PlatformApi = { readonly url: string; readonly stop: () => Promise<void> }

/** `onReply` hears the text of every message that is sent by Telegram's `sendMessage`. */
export async function startPlatformApi(onReply: (text: string) => void = () => {}): Promise<PlatformApi> {
  let sent = 0
  const takeMessage = (body: Buffer): object => {
    const { chat_id: id, text = '' }: { chat_id?: unknown; text?: string } = JSON.parse(body.toString('utf8'))
    onReply(text)
    sent += 1
    const date = Math.floor(Date.now() / 1000)
    return { ok: true, result: { message_id: sent, date, chat: { id: Number(id), type: 'private' }, from: bot, text } }
  }
  const server = createServer((request, response) => {
    const method = new URL(request.url ?? '/', 'http://127.0.0.1').pathname.split('/').at(-1) ?? ''
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      response.setHeader('content-type', 'application/json')
      const answer = method === 'sendMessage' ? takeMessage(Buffer.concat(chunks)) : (answers[method] ?? nothing)
      response.end(JSON.stringify(answer))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      server.close()
      server.closeAllConnections()
    },
  }
}
