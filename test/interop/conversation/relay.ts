// Stands between a gateway and a peer, both ways. It keeps what passes, cuts or holds what it is told to, and brings the peer's
// events to whichever gateway runs at that moment, again and again as platforms do.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Answer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export type Passing = {
  readonly path: string
  /** The last part of the path: the API's method. */
  readonly method: string
  readonly body: string
  readonly headers: IncomingHttpHeaders
}

/** What becomes of one call; `forward` brings it to the peer. Undefined: the line is cut. */
export type Meeting = (call: Passing, forward: () => Promise<Answer>) => Promise<Answer | undefined>

export type Relay = {
  /** For the gateway, in place of the peer's address. */
  readonly url: string
  /** For the peer, in place of the gateway's address. */
  readonly hookUrl: string
  /** Every call of a gateway, in the order they came. */
  readonly calls: readonly Passing[]
  readonly count: (method: string) => number
  /** Where the peer is, and what is added to what it says to the gateway. */
  readonly connect: (peerUrl: string) => void
  /** Where the gateway is that hears of events now; undefined: none runs, and they wait. Until it is said nobody is told. */
  readonly bringTo: (hook: string | undefined) => void
  meet: Meeting
  readonly close: () => Promise<void>
}

const patienceMs = 60_000

/** `hookHeaders`: what the platform would add and the peer does not. */
export async function startRelay(hookHeaders: Readonly<Record<string, string>> = {}): Promise<Relay> {
  const calls: Passing[] = []
  let peer = ''
  let gateway: string | undefined
  let isSubscribed = false
  const bringing = new Set<Promise<Answer>>()
  let isClosed = false
  const bring = async (body: string, headers: IncomingHttpHeaders): Promise<Answer> => {
    if (!isSubscribed) return { status: 200, headers: {}, body: '' }
    for (const late = Date.now() + patienceMs; Date.now() < late && !isClosed; ) {
      const answer =
        gateway === undefined
          ? undefined
          : await pass(gateway, body, { ...headers, ...hookHeaders }).catch(() => undefined)
      if (answer !== undefined && answer.status < 300) return answer
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    return { status: isClosed ? 200 : 502, headers: {}, body: '' }
  }
  const relay: Omit<Relay, 'url' | 'hookUrl' | 'close'> = {
    calls,
    count: (method) => calls.filter((call) => call.method === method).length,
    connect(peerUrl) {
      peer = peerUrl
    },
    bringTo(hook) {
      isSubscribed = true
      gateway = hook
    },
    meet: (_call, forward) => forward(),
  }
  const server = createServer((incoming, outgoing) => {
    handle(incoming, outgoing).catch(() => outgoing.destroy())
  })
  async function handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString('utf8')
    const { url: path = '', headers } = incoming
    if (path === '/hook') {
      const brought = bring(body, headers)
      bringing.add(brought)
      const answer = await brought
      bringing.delete(brought)
      return send(outgoing, answer)
    }
    const call = { path, method: path.split('/').at(-1)?.split('?')[0] ?? '', body, headers }
    calls.push(call)
    const answer = await live.meet(call, () => pass(peer + path, body, headers))
    if (answer === undefined) outgoing.destroy()
    else send(outgoing, answer)
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const live: Relay = {
    ...relay,
    url,
    hookUrl: `${url}/hook`,
    async close() {
      isClosed = true
      await Promise.all(bringing)
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeIdleConnections()
        setTimeout(() => server.closeAllConnections(), 500)
      })
    },
  }
  return live
}

function send(outgoing: ServerResponse, { status, headers, body }: Answer): void {
  outgoing.writeHead(status, headers)
  outgoing.end(body)
}

/** The bytes as they are: a signature stands on them. */
function pass(url: string, body: string, headers: IncomingHttpHeaders): Promise<Answer> {
  const { host: _host, connection: _connection, 'transfer-encoding': _transfer, ...rest } = headers
  const bytes = Buffer.from(body, 'utf8')
  return new Promise((resolve, reject) => {
    const out = request(url, { method: 'POST', headers: { ...rest, 'content-length': bytes.length } }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const type = response.headers['content-type']
        const given = type === undefined ? {} : { 'content-type': type }
        resolve({ status: response.statusCode ?? 0, headers: given, body: Buffer.concat(chunks).toString('utf8') })
      })
    })
    out.on('error', reject)
    out.setTimeout(10_000, () => out.destroy(new Error('no answer')))
    out.end(bytes)
  })
}

/** The fields of a call, whichever way they were written down. */
export function fieldsOf({ body }: Pick<Passing, 'body'>): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(body) as Readonly<Record<string, unknown>>
  } catch {
    return Object.fromEntries(new URLSearchParams(body))
  }
}
