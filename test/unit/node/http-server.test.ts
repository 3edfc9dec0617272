// The server that strangers reach: slow heads, slow bodies, floods of connections and odd requests end, with an answer where one can be heard.
import type { RequestListener } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterAll, describe, expect, test } from 'vitest'
import { readHttpLimits } from '../../../src/config/limits.ts'
import { clientAddressForLimit } from '../../../src/node/connection-limits.ts'
import { createHttpServer, type HttpServer } from '../../../src/node/http-server.ts'
import { until } from '../../doubles/background-gateway.ts'

const quiet = { info: () => {}, warn: () => {}, error: () => {} }
const mebibyte = 1024 * 1024
const short = {
  bodyBytes: 4 * mebibyte,
  maxConnections: 40,
  maxHalfOpen: 20,
  headersTimeoutMs: 600,
  bodyTimeoutMs: 600,
  requestTimeoutMs: 3_000,
  keepAliveTimeoutMs: 600,
  maxHeaders: 20,
  maxHeaderBytes: 4096,
}

/** Reads the body and says how long it was. */
const measuring: RequestListener = (incoming, outgoing) => {
  let length = 0
  incoming.on('data', (chunk: Uint8Array) => {
    length += chunk.length
  })
  incoming.on('end', () => outgoing.end(`read ${length}`))
}

type Started = { readonly port: number; readonly edge: HttpServer; readonly open: (words?: string) => Line }

async function start(listener: RequestListener = measuring, more: Partial<typeof short> = {}): Promise<Started> {
  const limits = readHttpLimits({ ...short, ...more }, mebibyte, [])
  const edge = createHttpServer(listener, limits, { monotonicMs: () => performance.now(), log: quiet })
  const { server } = edge
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const sockets: Socket[] = []
  servers.push(async () => {
    for (const socket of sockets) socket.destroy()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const open = (words = ''): Line => {
    const socket = connect(port, '127.0.0.1')
    sockets.push(socket)
    let told = ''
    socket.on('data', (data) => {
      told += data.toString('latin1')
    })
    socket.on('error', () => {})
    socket.write(words)
    return { socket, told: () => told, closed: new Promise((resolve) => socket.once('close', () => resolve(told))) }
  }
  return { port, edge, open }
}

const servers: (() => Promise<void>)[] = []
afterAll(async () => {
  for (const close of servers) await close()
})

type Line = { readonly socket: Socket; readonly told: () => string; readonly closed: Promise<string> }

const post = (...headers: string[]): string =>
  ['POST /hooks/slack/default HTTP/1.1', 'host: 127.0.0.1', ...headers, '\r\n'].join('\r\n')
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
/** On a connection of its own: an idle one may be closed at any time. */
const ask = async (port: number): Promise<number> => {
  const headers = { connection: 'close' }
  return (await fetch(`http://127.0.0.1:${port}/hooks/slack/default`, { method: 'POST', body: 'hello', headers }))
    .status
}

describe.concurrent('the edge server', () => {
  test('a head that never ends is closed in time', async () => {
    const { open } = await start()
    const line = open('POST /hooks/slack/default HTTP/1.1\r\nhost: a\r\n')
    const slow = setInterval(() => line.socket.write('x-a: b\r\n'), 100)
    expect(await line.closed).toMatch(/^HTTP\/1\.1 408 [\s\S]*headers_timeout/)
    clearInterval(slow)
  })

  test.each([
    ['that stops', post('content-length: 1000000'), undefined],
    ['that comes byte by byte', post('content-length: 1000000'), 'x'],
    ['in chunks that never end', `${post('transfer-encoding: chunked')}4\r\nabcd\r\n`, '1\r\nx\r\n'],
    ['whose trailers never end', `${post('transfer-encoding: chunked')}4\r\nabcd\r\n0\r\n`, 'x-t: 1\r\n'],
  ] as const)('a body %s is answered 408 and closed in time', async (_, head, drip) => {
    const { port, edge, open } = await start()
    const line = open(head)
    const slow = setInterval(() => drip !== undefined && line.socket.writable && line.socket.write(drip), 100)
    const from = performance.now()
    expect(await line.closed).toMatch(/^HTTP\/1\.1 408 [\s\S]*body_timeout/)
    expect(performance.now() - from).toBeLessThan(3_000)
    clearInterval(slow)
    expect(await ask(port)).toBe(200)
    expect(edge.use()).toMatchObject({ bodies: { bytes: 0, bodies: 0 }, connections: { halfOpen: 0 } })
  })

  test('a body of one-byte chunks is refused before it takes two hundred times its length', async () => {
    const { open } = await start()
    const line = open(post('transfer-encoding: chunked'))
    line.socket.write('1\r\nx\r\n'.repeat(100_000))
    expect(await line.closed).toMatch(/^HTTP\/1\.1 400 [\s\S]*body_fragmented/)
  })

  test('bodies beyond the budget are answered 503 with when to come again; small ones are read meanwhile', async () => {
    const { port, edge, open } = await start()
    const lines = Array.from({ length: 8 }, () => {
      const line = open(post(`content-length: ${mebibyte}`))
      line.socket.write(Buffer.alloc(mebibyte - 1))
      return line
    })
    await pause(200)
    expect(await ask(port)).toBe(200)
    const told = await Promise.all(lines.map(({ closed }) => closed))
    const full = told.filter((each) => each.startsWith('HTTP/1.1 503 '))
    expect(full.length).toBeGreaterThanOrEqual(5)
    expect(full.every((each) => /retry-after: \d/i.test(each))).toBe(true)
    expect(edge.use().refused.get('bodies_full')).toBe(full.length)
  })

  test('a caller who asks whether to go on is told so only when the body is wanted', async () => {
    const wanted = await start()
    const going = wanted.open(post('expect: 100-continue', 'content-length: 5'))
    await until(() => /^HTTP\/1\.1 100 /.test(going.told()), 4_000)
    going.socket.write('hello')
    await until(() => going.told().includes('read 5'), 4_000)
    const refusing = await start((_, outgoing) => outgoing.writeHead(401).end('no'))
    const refused = refusing.open(post('expect: 100-continue', `content-length: ${mebibyte}`))
    expect(await refused.closed).toMatch(/^HTTP\/1\.1 401 /)
  })

  test('a request that is answered before its body came does not keep its connection', async () => {
    const { open } = await start((_, outgoing) => outgoing.end('known'))
    const line = open('HEAD / HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\n')
    const from = performance.now()
    expect(await line.closed).toMatch(/^HTTP\/1\.1 200 /)
    expect(performance.now() - from).toBeLessThan(2_500)
  })

  test('too many and too long header fields are refused', async () => {
    const { open } = await start()
    const many = Array.from({ length: 30 }, (_, index) => `x-${index}: y`)
    expect(await open(post(...many)).closed).toMatch(/^HTTP\/1\.1 431 [\s\S]*too_many_headers/)
    expect(await open(post(`x-a: ${'y'.repeat(5000)}`)).closed).toMatch(/^HTTP\/1\.1 431 [\s\S]*headers_too_large/)
    expect(await open('nonsense\r\n\r\n').closed).toMatch(/^HTTP\/1\.1 400 [\s\S]*malformed_http/)
  })

  test('a request to become another protocol is answered as an ordinary one', async () => {
    const { open } = await start((_, outgoing) => outgoing.end('plain'))
    const line = open('GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n')
    await until(() => line.told().includes('plain'), 4_000)
  })

  test('requests that pile up on one connection close it', async () => {
    const { edge, open } = await start(() => {})
    const line = open('GET / HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(200))
    await line.closed
    expect(edge.use().refused.get('pipelined')).toBe(1)
  })

  test('connections that say nothing make room for those that do', async () => {
    const { port, edge, open } = await start(measuring, { headersTimeoutMs: 10_000 })
    const silent = Array.from({ length: 39 }, () => open('GET / HT'))
    await pause(1_700)
    const more = Array.from({ length: 40 }, () => open('GET / HT'))
    await pause(200)
    const from = performance.now()
    for (let i = 0; i < 10; i += 1) expect(await ask(port)).toBe(200)
    expect(performance.now() - from).toBeLessThan(1_500)
    const { connections } = edge.use()
    expect(connections.open).toBeLessThanOrEqual(short.maxConnections)
    await until(() => edge.use().connections.halfOpen <= short.maxHalfOpen, 4_000)
    expect([...silent, ...more].filter(({ socket }) => !socket.destroyed).length).toBeLessThanOrEqual(
      short.maxConnections,
    )
  })
})

test.each([
  ['127.0.0.1', undefined],
  ['::1', undefined],
  ['10.1.2.3', undefined],
  ['::ffff:192.168.1.9', undefined],
  ['203.0.113.9', '203.0.113.9'],
  ['::ffff:203.0.113.9', '203.0.113.9'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8:1:2::9', '2001:db8:1:2'],
  ['2001:db8::9', '2001:db8:0:0'],
] as const)('%s counts as %s', (remote, address) => {
  expect(clientAddressForLimit(remote)).toBe(address)
})
