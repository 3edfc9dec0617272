// Stands in for Socket Mode: apps.connections.open over HTTP, and the WebSocket behind the address it gives.
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo, Socket as NetSocket } from 'node:net'

export type SocketPeer = {
  readonly apiUrl: string
  /** Tokens that asked for a connection, in order. */
  readonly opened: readonly string[]
  /** Everything the client said, in order, as JSON. */
  readonly heard: readonly Heard[]
  /** Sends to the newest connection. */
  readonly send: (message: object | string) => void
  /** Ends the newest connection without a word. */
  readonly drop: () => void
  readonly connections: () => number
  /** What `apps.connections.open` answers from now on. */
  refuse: string | undefined
  readonly until: (isTrue: () => boolean) => Promise<void>
  readonly close: () => Promise<void>
}

export type Heard = { readonly connection: number; readonly envelope_id?: string; readonly payload?: unknown }

const magic = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

export async function startSlackSocket(): Promise<SocketPeer> {
  const opened: string[] = []
  const heard: Heard[] = []
  const live: NetSocket[] = []
  const watchers = new Set<() => void>()
  const changed = (): void => {
    for (const look of watchers) look()
  }
  let count = 0
  const server = createServer((request, response) => {
    opened.push(String(request.headers.authorization ?? ''))
    const { port } = server.address() as AddressInfo
    const body =
      peer.refuse === undefined ? { ok: true, url: `ws://127.0.0.1:${port}/link` } : { ok: false, error: peer.refuse }
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
    changed()
  })
  server.on('upgrade', (request, socket: NetSocket) => {
    const accept = createHash('sha1').update(`${request.headers['sec-websocket-key']}${magic}`).digest('base64')
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    )
    const connection = ++count
    live.push(socket)
    socket.on('error', () => {})
    socket.on('close', () => {
      live.splice(live.indexOf(socket), 1)
      changed()
    })
    readFrames(socket, (text) => {
      heard.push({ connection, ...(JSON.parse(text) as object) })
      changed()
    })
    socket.write(frame(JSON.stringify({ type: 'hello', num_connections: 1 })))
    changed()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const peer: SocketPeer = {
    apiUrl: `http://127.0.0.1:${port}/api/`,
    opened,
    heard,
    send: (message) => void live.at(-1)?.write(frame(typeof message === 'string' ? message : JSON.stringify(message))),
    drop: () => void live.at(-1)?.destroy(),
    connections: () => live.length,
    refuse: undefined,
    until: (isTrue) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error('the peer waited in vain')), 15_000)
        const look = (): void => {
          if (!isTrue()) return
          clearTimeout(timer)
          watchers.delete(look)
          resolve()
        }
        watchers.add(look)
        look()
      }),
    async close() {
      for (const socket of live) socket.destroy()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return peer
}

/** RFC 6455 section 5.2, one unmasked frame: servers do not mask. */
function frame(text: string, opcode = 1): Buffer {
  const body = Buffer.from(text)
  const head = body.length < 126 ? Buffer.from([0x80 | opcode, body.length]) : Buffer.alloc(4)
  if (body.length >= 126) {
    head.writeUInt16BE(((0x80 | opcode) << 8) | 126, 0)
    head.writeUInt16BE(body.length, 2)
  }
  return Buffer.concat([head, body])
}

function readFrames(socket: NetSocket, onText: (text: string) => void): void {
  let rest = Buffer.alloc(0)
  socket.on('data', (chunk) => {
    rest = Buffer.concat([rest, chunk])
    for (let next = readFrame(rest); next !== undefined; next = readFrame(rest)) {
      rest = rest.subarray(next.size)
      if (next.opcode === 1) onText(next.body.toString())
      if (next.opcode === 8) socket.end(Buffer.from([0x88, 0]))
      if (next.opcode === 9) socket.write(frame(next.body.toString(), 10))
    }
  })
}

type Frame = { readonly opcode: number; readonly body: Buffer; readonly size: number }

/** Clients mask, and what is said here is short. */
function readFrame(bytes: Buffer): Frame | undefined {
  const [first, second] = bytes
  if (first === undefined || second === undefined) return undefined
  const isLong = (second & 0x7f) === 126
  const start = isLong ? 4 : 2
  if (bytes.length < start + 4) return undefined
  const length = isLong ? bytes.readUInt16BE(2) : second & 0x7f
  const size = start + 4 + length
  if (bytes.length < size) return undefined
  const mask = bytes.subarray(start, start + 4)
  const body = Buffer.from(bytes.subarray(start + 4, size).map((byte, at) => byte ^ (mask[at % 4] ?? 0)))
  return { opcode: first & 0x0f, body, size }
}
