// Another server's inbox on this machine: keeps what came, as it came, and answers as it is told.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Received = {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array<ArrayBuffer>
  readonly json: { readonly [key: string]: unknown }
}

export type InboxAnswer = { readonly status: number; readonly headers?: Readonly<Record<string, string>> }

export type InboxServer = {
  readonly origin: string
  readonly received: readonly Received[]
  /** For every request from now on. */
  answer: (received: Received) => InboxAnswer
  close(): Promise<void>
}

export async function startInbox(): Promise<InboxServer> {
  const received: Received[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = new Uint8Array(Buffer.concat(chunks))
      const headers = Object.fromEntries(
        Object.entries(request.headers).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
      )
      const json: Received['json'] = JSON.parse(new TextDecoder().decode(body) || '{}')
      const got = { method: request.method ?? '', path: request.url ?? '', headers, body, json }
      received.push(got)
      const { status, headers: answered = {} } = inbox.answer(got)
      response.writeHead(status, answered).end()
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const inbox: InboxServer = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    answer: () => ({ status: 202 }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return inbox
}
