// A real HTTP server on 127.0.0.1 that stands in for a vendor: records every request, and fails the way it is told to.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What goes wrong with one request. `applied` = the vendor did the work although the caller hears otherwise. */
export type Fault =
  | {
      readonly kind: 'answer'
      readonly status: number
      readonly body: string
      readonly headers?: Readonly<Record<string, string>>
      readonly applied?: boolean
    }
  | { readonly kind: 'drop'; readonly when: 'before' | 'after' }
  | { readonly kind: 'delay'; readonly ms: number }
  | { readonly kind: 'hang'; readonly applied?: boolean }

export type RecordedCall = {
  readonly route: string
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  readonly at: number
  /** True when the vendor did what the call asked for. */
  readonly applied: boolean
}

/** A body of bytes goes out as it is, anything else as JSON. */
export type VendorReply = {
  readonly status: number
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
}
export type VendorRequest = Pick<RecordedCall, 'method' | 'path' | 'headers' | 'body'>

/** Names the route of a request, or nothing for a request the vendor does not know. */
export type VendorRoutes = {
  readonly routeOf: (request: VendorRequest) => string | undefined
  readonly apply: (route: string, request: VendorRequest) => VendorReply
  /** The body of the 404 for unknown routes. */
  readonly notFound: unknown
}

export type ScriptedServer = {
  readonly origin: string
  readonly calls: readonly RecordedCall[]
  /** Requests to routes the vendor does not have; a test asserts that this is empty. */
  readonly unexpected: readonly string[]
  /** The next requests of this route meet these faults, one each, in order. */
  readonly failNext: (route: string, ...faults: readonly Fault[]) => void
  /** Every request of this route meets the fault until it is taken back with undefined. */
  readonly failAlways: (route: string, fault: Fault | undefined) => void
  /** Every request of this route meets the fault chosen for it, if any. */
  readonly failBy: (route: string, choose: (request: VendorRequest) => Fault | undefined) => void
  readonly close: () => Promise<void>
}

export async function startScriptedServer(routes: VendorRoutes, port = 0): Promise<ScriptedServer> {
  const calls: RecordedCall[] = []
  const unexpected: string[] = []
  const scripted = new Map<string, Fault[]>()
  const chosen = new Map<string, (request: VendorRequest) => Fault | undefined>()
  const server = createServer((incoming, outgoing) => {
    answerScriptedRequest(incoming, outgoing).catch((error: unknown) => {
      unexpected.push(`double failed: ${String(error)}`)
      outgoing.destroy()
    })
  })

  async function answerScriptedRequest(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const request = await readRequest(incoming)
    const route = routes.routeOf(request)
    if (route === undefined) {
      unexpected.push(`${request.method} ${request.path}`)
      sendResponse(outgoing, 404, JSON.stringify(routes.notFound))
      return
    }
    const fault = scripted.get(route)?.shift() ?? chosen.get(route)?.(request)
    const isApplied = isAppliedDespiteFault(fault)
    const reply = isApplied ? routes.apply(route, request) : undefined
    calls.push({ route, ...request, at: Date.now(), applied: isApplied })
    if (fault?.kind === 'drop') return void outgoing.destroy()
    if (fault?.kind === 'hang') return
    if (fault?.kind === 'answer') return sendResponse(outgoing, fault.status, fault.body, fault.headers)
    if (fault?.kind === 'delay') await new Promise((resolve) => setTimeout(resolve, fault.ms))
    if (reply === undefined) return
    const { body } = reply
    sendResponse(outgoing, reply.status, body instanceof Uint8Array ? body : JSON.stringify(body), reply.headers)
  }

  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  // A TCP server always has an address object; only pipes have a string.
  const address = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${address.port}`,
    calls,
    unexpected,
    failNext: (route, ...faults) => void scripted.set(route, [...(scripted.get(route) ?? []), ...faults]),
    failAlways: (route, fault) => void chosen.set(route, () => fault),
    failBy: (route, choose) => void chosen.set(route, choose),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function isAppliedDespiteFault(fault: Fault | undefined): boolean {
  switch (fault?.kind) {
    case undefined:
    case 'delay':
      return true
    case 'drop':
      return fault.when === 'after'
    case 'answer':
    case 'hang':
      return fault.applied ?? false
  }
}

function sendResponse(
  outgoing: ServerResponse,
  status: number,
  body: string | Uint8Array,
  headers?: Readonly<Record<string, string>>,
): void {
  outgoing.writeHead(status, { 'content-type': 'application/json', ...headers })
  outgoing.end(body)
}

async function readRequest(incoming: IncomingMessage): Promise<VendorRequest> {
  const chunks: Uint8Array[] = []
  for await (const chunk of incoming) chunks.push(chunk)
  // One character per byte, so that what is uploaded can be compared byte by byte.
  const isUpload = incoming.headers['content-type']?.startsWith('multipart/') === true
  const text = Buffer.concat(chunks).toString(isUpload ? 'latin1' : 'utf8')
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(incoming.headers)) headers[name] = String(value)
  return { method: incoming.method ?? '', path: incoming.url ?? '', headers, body: readJson(text) }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
