// One request to a gateway: the token, JSON both ways, and errors that say what to do.
import type { Problem } from '../api/http-answers.ts'
import { readServerSentEvents, type ServerSentEvent } from '../lib/sse.ts'

export type ClientOptions = {
  /** Where the gateway is, such as https://bot.example.org. */
  readonly url: string
  /** Made with `parley tokens create --scope run`. A function is asked before every request. Without it: as this machine's user. */
  readonly token?: string | (() => string | Promise<string>)
  /** Without it: the one that is there. */
  readonly fetch?: typeof fetch
}

export type CallOptions = { readonly signal?: AbortSignal; readonly headers?: Readonly<Record<string, string>> }

type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>
export type Wanted = CallOptions & { readonly query?: Query; readonly json?: unknown; readonly body?: BodyInit }

/** What the gateway refused, with its own words about what to do. */
export class ParleyError extends Error {
  readonly status: number
  readonly code: string
  readonly remedy: string
  readonly trace: string | undefined
  /** Seconds after which it may be tried again, where the gateway said so. */
  readonly retryAfter: number | undefined
  readonly problem: Partial<Problem>

  constructor(status: number, problem: Partial<Problem>, retryAfter?: number) {
    super(`${problem.code ?? status}: ${problem.detail ?? problem.title ?? 'the gateway refused'}`)
    this.name = 'ParleyError'
    this.status = status
    this.code = problem.code ?? 'unknown'
    this.remedy = problem.remedy ?? ''
    this.trace = problem.trace
    this.retryAfter = retryAfter
    this.problem = problem
  }
}

export type Request = {
  /** The response as it is, if it is a success. */
  readonly send: (method: string, path: string, wanted?: Wanted) => Promise<Response>
  readonly json: <Body>(method: string, path: string, wanted?: Wanted) => Promise<Body>
}

export function createRequestMethods({ url, token, fetch: given }: ClientOptions): Request {
  const sendRequest: Request['send'] = async (method, path, { query = {}, json, body, headers = {}, signal } = {}) => {
    const address = new URL(path, url)
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) address.searchParams.set(name, Array.isArray(value) ? value.join(',') : String(value))
    const secret = typeof token === 'function' ? await token() : token
    const sent = json === undefined ? body : JSON.stringify(json)
    // Asked for at the call: some runtimes want it to be called as their own.
    const response = await (given ?? globalThis.fetch)(address, {
      method,
      headers: {
        accept: 'application/json',
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
        ...headers,
      },
      ...(sent === undefined ? {} : { body: sent }),
      ...(signal === undefined ? {} : { signal }),
    })
    if (response.ok) return response
    throw await readParleyError(response)
  }
  return {
    send: sendRequest,
    // The gateway's document promises the shape; a test compares the two.
    json: async <Body>(method: string, path: string, wanted?: Wanted) =>
      (await (await sendRequest(method, path, wanted)).json()) as Body,
  }
}

async function readParleyError(response: Response): Promise<ParleyError> {
  const body: unknown = await response.json().catch(() => ({}))
  const problem = typeof body === 'object' && body !== null ? body : {}
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  return new ParleyError(response.status, problem, Number.isFinite(seconds) ? seconds : undefined)
}

export type ServerEvent = ServerSentEvent

export function readEventStream(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  return readServerSentEvents(readChunks(body))
}

/** Not every browser iterates over a stream. */
async function* readChunks(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}
