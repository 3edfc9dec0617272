// A name server on loopback that answers over UDP, as far as a resolver needs one (RFC 1035 4).
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'

/** Chunks of one TXT record each, or the code of a failure: 2 fails, 3 there is no such name, 5 refused. */
export type ZoneEntry = readonly (readonly string[])[] | 2 | 3 | 5 | 'silent'

export type NameServer = { readonly address: string; readonly close: () => Promise<void> }

export async function startNameServer(zone: Readonly<Record<string, ZoneEntry>>): Promise<NameServer> {
  const socket = createSocket('udp4')
  socket.on('message', (query, from) => {
    const entry = zone[nameIn(query)] ?? 3
    if (entry !== 'silent') socket.send(answerTo(query, entry), from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return { address: `127.0.0.1:${socket.address().port}`, close: () => closed(socket) }
}

const closed = (socket: Socket): Promise<void> => new Promise((resolve) => socket.close(() => resolve()))

function nameIn(query: Buffer): string {
  const labels: string[] = []
  for (let at = 12; query[at] !== 0; at += (query[at] ?? 0) + 1) {
    labels.push(query.subarray(at + 1, at + 1 + (query[at] ?? 0)).toString())
  }
  return labels.join('.')
}

function answerTo(query: Buffer, entry: Exclude<ZoneEntry, 'silent'>): Buffer {
  const question = query.subarray(12, query.indexOf(0, 12) + 5)
  const records = typeof entry === 'number' ? [] : entry
  const head = Buffer.alloc(12)
  query.copy(head, 0, 0, 2)
  head.writeUInt16BE(0x8180 + (typeof entry === 'number' ? entry : 0), 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(records.length, 6)
  return Buffer.concat([head, question, ...records.map(recordOf)])
}

function recordOf(chunks: readonly string[]): Buffer {
  const data = Buffer.concat(chunks.map((chunk) => Buffer.concat([Buffer.from([chunk.length]), Buffer.from(chunk)])))
  // The name by reference, TXT, IN, sixty seconds.
  const head = Buffer.from([0xc0, 0x0c, 0, 16, 0, 1, 0, 0, 0, 60, 0, 0])
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}
