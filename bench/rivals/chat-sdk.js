// Chat SDK with its state in memory unless it is given another, behind a plain server that makes a Request of every call as its
// documentation shows; the handler does nothing, or answers. What it remembers in memory is gone with the process.
import { createSlackAdapter } from '@chat-adapter/slack'
import { createMemoryState } from '@chat-adapter/state-memory'
import { createTelegramAdapter } from '@chat-adapter/telegram'
import { Chat } from 'chat'
import { listen } from './listen.js'

const adapters = {
  telegram: ({ botToken, webhookSecret, botUsername, apiUrl }) =>
    createTelegramAdapter({ botToken, secretToken: webhookSecret, userName: botUsername, apiUrl, mode: 'webhook' }),
  slack: ({ botToken, signingSecret, botUserId, apiUrl }) =>
    createSlackAdapter({ botToken, signingSecret, botUserId, apiUrl: `${apiUrl}/` }),
}

export async function start(options, state = createMemoryState()) {
  const { wire, botUsername = 'bench', answers = false } = options
  let handled = 0
  const handle = async (thread, message) => {
    handled += 1
    if (answers) await thread.post(`${message.text.split(' ', 1)[0]} seen`)
  }
  const chat = new Chat({
    userName: botUsername,
    adapters: { [wire]: adapters[wire](options) },
    state,
    logger: 'silent',
    concurrency: 'concurrent',
  })
  chat.onNewMention(handle)
  const { port, stop } = await listen((request, response) => {
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', async () => {
      const { method, headers, url } = request
      const web = new Request(`http://127.0.0.1${url}`, { method, headers, body: Buffer.concat(chunks) })
      const answer = await chat.webhooks[wire](web, { waitUntil: (work) => void work.catch(() => {}) })
      const body = Buffer.from(await answer.arrayBuffer())
      response.writeHead(answer.status, { 'content-length': body.length }).end(body)
    })
  })
  return { port, stop, handled: () => handled }
}
