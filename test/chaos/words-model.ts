// The model of the crash test `a2a-resume`: says numbered words one after the other, and other ones in every life of the gateway.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { delay } from './crash-test.ts'

export type WordsModel = {
  readonly baseUrl: string
  /** From now on it answers differently. */
  readonly nextLife: () => void
  /** All texts it would give to a wish, one per life so far. */
  readonly texts: (wish: string) => readonly string[]
  readonly close: () => Promise<void>
}

export function wordsWish(count: number, id: string): string {
  return `words ${count} ${id}`
}

export async function startWordsModel(wordMs: number): Promise<WordsModel> {
  let life = 1
  const server = createServer((request, response) => {
    readWish(request)
      .then((wish) => speak(response, wordsOf(wish, life), wordMs))
      .catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    nextLife() {
      life += 1
    },
    texts: (wish) => Array.from({ length: life }, (_, index) => wordsOf(wish, index + 1).join('')),
    close() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

/** Other words in every life, and a different number of them. */
function wordsOf(wish: string, life: number): readonly string[] {
  const [, count = '', id = ''] = wish.split(' ')
  const length = Number(count) + (life % 2 === 0 ? -2 : 3)
  return Array.from({ length }, (_, index) => `${index === 0 ? '' : ' '}${id}/${life}/${index + 1}`)
}

async function readWish(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  // The provider of ours wrote it.
  const { messages } = JSON.parse(Buffer.concat(chunks).toString()) as {
    readonly messages: readonly { readonly role: string; readonly content?: unknown }[]
  }
  return String(messages.findLast(({ role }) => role === 'user')?.content).trim()
}

async function speak(response: ServerResponse, words: readonly string[], wordMs: number): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const write = (choice: object): void => {
    const chunk = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'words' }
    response.write(`data: ${JSON.stringify({ ...chunk, choices: [{ index: 0, finish_reason: null, ...choice }] })}\n\n`)
  }
  for (const word of words) {
    if (response.destroyed) return
    write({ delta: { content: word } })
    await delay(wordMs)
  }
  write({ delta: {}, finish_reason: 'stop' })
  response.end('data: [DONE]\n\n')
}
