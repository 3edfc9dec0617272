// Where the world reaches a gateway: a name of its own before whichever process runs, as a proxy has it. It keeps what was posted.
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import './near-names.mjs'

/** A request as it came to an inbox, and what it was answered. */
export type Posted = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Buffer
  readonly status: number
}

export type FrontDoor = {
  readonly origin: string
  readonly posted: Posted[]
  /** Who answers from now on. */
  leadTo(gateway: string): void
  close(): Promise<void>
}

export async function openFrontDoor(): Promise<FrontDoor> {
  const posted: Posted[] = []
  let gateway: string | undefined
  const server = createServer((incoming, outgoing) => {
    pass(incoming, outgoing).catch(() => outgoing.writeHead(502).end())
  })
  async function pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const bytes = await bytesOf(incoming)
    // Headers that came once each: what is signed is signed over these very values.
    const headers = incoming.headers as Readonly<Record<string, string>>
    const { method = 'GET', url = '/' } = incoming
    const answer = await ask(`${gateway}${url}`, method, headers, bytes)
    if (method === 'POST') posted.push({ url: `${origin}${url}`, headers, bytes, status: answer.statusCode ?? 0 })
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(outgoing)
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://bot.localhost:${(server.address() as AddressInfo).port}`
  return {
    origin,
    posted,
    leadTo(url) {
      gateway = url
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** The same bytes under the same headers once more; answers the status. */
export async function postAgain({ url, headers, bytes }: Posted): Promise<number> {
  const { connection: _connection, ...rest } = headers
  const answer = await ask(url, 'POST', rest, bytes)
  answer.resume()
  return answer.statusCode ?? 0
}

function ask(
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
  bytes: Buffer,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers, agent: false }, resolve)
    request.on('error', reject)
    request.end(bytes)
  })
}

async function bytesOf(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
