// The floor: the least anybody can do with a signed webhook. Nothing is checked but the signature, nothing is kept.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { secret, signatureHeader } from '../requests.ts'
import type { Subject } from '../subject-settings.ts'

// The gateway's own answer, so that both write the same bytes.
const answer = JSON.stringify({ ok: true, outcomes: ['accepted'] })
const headers = { 'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(answer) }

export async function startFloor(): Promise<Subject> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => judge(request, Buffer.concat(chunks), response))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    statements: new Map(),
    sends: () => 0,
    async stop() {
      server.close()
      server.closeAllConnections()
    },
  }
}

function judge(request: IncomingMessage, body: Buffer, response: ServerResponse): void {
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`)
  const given = Buffer.from(String(request.headers[signatureHeader]))
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    response.writeHead(401).end()
    return
  }
  JSON.parse(body.toString('utf8'))
  response.writeHead(200, headers).end(answer)
}
