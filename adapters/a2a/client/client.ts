// The client of a remote agent: the operations of one of its interfaces. Answers are values, whatever else is a RemoteFault.

import type { RemoteCallContext } from '../../../src/contract/index.ts'
import {
  createUnpinnedFetch,
  type Fields,
  parseBoundedJson,
  readServerSentEvents,
  rejectWhenAborted,
  type SafeFetchResult,
  type Secret,
  withTimeout,
} from '../../../src/lib/index.ts'
import { type FaultCode, isRemoteFault, RemoteFault } from './fault.ts'
import type { RemoteEvent, RemoteTask } from './task.ts'
import {
  httpFault,
  malformedAnswerFault,
  type Operation,
  type OutboundMessage,
  operationToHttpRequest,
  type RemoteInterface,
  readEvent,
  readRemoteTask,
  readSendResult,
  readTasks,
  rpcResult,
  type WireRequest,
} from './wire.ts'
export type StreamedEvent = { readonly event: RemoteEvent; readonly id: string | undefined }

export interface RemoteClient {
  send(message: OutboundMessage): Promise<RemoteEvent>
  /** Its first event has been asked for when this returns; a peer that answers in one piece is a stream of one event. */
  stream(message: OutboundMessage): AsyncIterableIterator<StreamedEvent>
  get(taskId: string): Promise<RemoteTask>
  cancel(taskId: string): Promise<RemoteTask>
  subscribe(taskId: string, lastEventId: string | undefined): AsyncIterableIterator<StreamedEvent>
  /** Tasks of a conversation, newest first, as many as are worth looking at. Throws `remote_unsupported` where none are told. */
  list(contextId: string): Promise<readonly RemoteTask[]>
}

type ClientDeps = {
  readonly egress: Egress
  readonly limits: RemoteLimits
  /** Said with every request: where we stand in a chain of agents. */
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly allowance: Allowance
}

const maxPages = 3

export function createRemoteClient(deps: ClientDeps, at: RemoteInterface): RemoteClient {
  const callOperation = (operation: Operation) => requestOperationResult(deps, at, operation)
  return {
    send: async (message) => readSendResult(at, await callOperation({ kind: 'send', message })),
    stream: (message) => streamRemoteEvents(deps, at, { kind: 'stream', message }, undefined),
    get: async (taskId) => readRemoteTask(at, await callOperation({ kind: 'get', taskId })),
    cancel: async (taskId) => readRemoteTask(at, await callOperation({ kind: 'cancel', taskId })),
    subscribe: (taskId, lastEventId) => streamRemoteEvents(deps, at, { kind: 'subscribe', taskId }, lastEventId),
    async list(contextId) {
      const found: RemoteTask[] = []
      let pageToken: string | undefined
      for (let page = 0; page < maxPages; page += 1) {
        const after = pageToken === undefined ? {} : { pageToken }
        const { tasks, next } = readTasks(at, await callOperation({ kind: 'list', contextId, ...after }))
        found.push(...tasks)
        pageToken = next
        if (next === undefined) break
      }
      return found
    },
  }
}

async function requestOperationResult(deps: ClientDeps, at: RemoteInterface, operation: Operation): Promise<unknown> {
  // An answer in one piece may take as long as the work does.
  const patience = operation.kind === 'send' ? deps.limits.timeoutMs : deps.limits.headersMs
  const signal = AbortSignal.any([deps.signal, AbortSignal.timeout(patience)])
  try {
    const response = await sendOperation(deps, at, operation, { signal, timeoutMs: patience, lastEventId: undefined })
    const body = await readRemoteJson(response, deps.allowance, signal)
    return at.binding === 'JSONRPC' ? rpcResult(body) : body
  } catch (error) {
    // Ours to say whether the caller ended it or the time did.
    if (!deps.signal.aborted && signal.aborted) throw new RemoteFault('remote_unreachable')
    throw error
  }
}

async function* streamRemoteEvents(
  deps: ClientDeps,
  at: RemoteInterface,
  operation: Operation,
  lastEventId: string | undefined,
): AsyncGenerator<StreamedEvent> {
  const { signal, limits } = deps
  const response = await sendOperation(deps, at, operation, { signal, timeoutMs: limits.headersMs, lastEventId })
  const parseStreamEventBody = (body: unknown) => readEvent(at, at.binding === 'JSONRPC' ? rpcResult(body) : body)
  if (!isEventStream(response)) {
    yield { event: parseStreamEventBody(await readRemoteJson(response, deps.allowance, signal)), id: undefined }
    return
  }
  for await (const { fields, id, isError } of readEventFrames(response, limits, deps.allowance, signal)) {
    if (isError && at.binding === 'HTTP+JSON') throw httpFault(400, fields, null)
    yield { event: parseStreamEventBody(fields), id }
  }
}

type Asking = {
  readonly signal: AbortSignal
  readonly timeoutMs: number
  readonly lastEventId: string | undefined
}

async function sendOperation(
  deps: ClientDeps,
  at: RemoteInterface,
  operation: Operation,
  { signal, timeoutMs, lastEventId }: Asking,
): Promise<Response> {
  const request = operationToHttpRequest(at, operation)
  if (request === undefined) throw new RemoteFault('remote_unsupported')
  const resumed = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
  const headers = { ...request.headers, ...deps.headers, ...resumed }
  const maxBytes = Math.max(deps.allowance.bytes, 1)
  const response = await deps.egress({ ...request, headers }, { signal, timeoutMs, maxBytes })
  if (response.ok) return response
  throw httpFault(response.status, await readErrorBody(response, deps), response.headers.get('retry-after'))
}

/** What an error says is looked at for its code alone; that it cannot be read says nothing more. */
async function readErrorBody(response: Response, { allowance, signal }: ClientDeps): Promise<unknown> {
  try {
    return await readRemoteJson(response, { ...allowance, bytes: Math.min(allowance.bytes, 64 * 1024) }, signal)
  } catch (error) {
    if (isRemoteFault(error)) return undefined
    throw error
  }
}

// Requests go to origins that the operator wrote down, or to public ones and nowhere else; credentials go to the origin they were
// given for.

/** By origin: headers that prove who we are there. */
export type OriginHeaders = ReadonlyMap<string, Readonly<Record<string, Secret>>>

export type EgressPolicy = {
  /** What the operator wrote down: may be http, on any port, in a private network. */
  readonly origins: readonly string[]
  readonly credentials: OriginHeaders
}

type EgressDeps = Pick<RemoteCallContext['remoteCaller'], 'fetch' | 'guarded'>

type EgressOptions = {
  readonly maxBytes: number
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly maxRedirects?: number
}

export type Egress = (request: WireRequest, options: EgressOptions) => Promise<Response>

export function createCredentialedFetch({ origins, credentials }: EgressPolicy, means: EgressDeps): Egress {
  const written = createUnpinnedFetch(means.fetch)
  return async ({ method, url, headers, body }, options) => {
    const origin = URL.canParse(url) ? new URL(url).origin : ''
    const own = credentials.get(origin) ?? {}
    const proofs = Object.fromEntries(Object.entries(own).map(([name, value]) => [name, value.reveal()]))
    const isWritten = origins.includes(origin)
    const sender = isWritten ? written : means.guarded
    const outcome = await sender.fetch(url, {
      ...options,
      method,
      headers: { ...headers, ...proofs },
      ...(body === undefined ? {} : { body }),
      ...(isWritten ? { origins: [origin] } : {}),
    })
    options.signal.throwIfAborted()
    return requireResponse(outcome)
  }
}

function requireResponse(outcome: SafeFetchResult): Response {
  if (outcome.kind === 'answered') return outcome.response
  throw new RemoteFault(outcome.kind === 'failed' ? 'remote_unreachable' : refusalToFaultCode(outcome.reason))
}

function refusalToFaultCode(reason: Extract<SafeFetchResult, { kind: 'refused' }>['reason']): FaultCode {
  if (reason === 'too_large') return 'remote_too_much'
  return reason === 'encoding' ? 'remote_malformed' : 'remote_address_refused'
}

// Reads the body of a remote agent's answer within bounds of size and time: as JSON, or as the events of a stream.

/** What may still be read for one message. */
export type Allowance = { bytes: number; events: number }

type Frame = { readonly fields: Fields; readonly id: string | undefined; readonly isError: boolean }

export async function readRemoteJson(response: Response, allowance: Allowance, signal: AbortSignal): Promise<Fields> {
  const chunks: Uint8Array<ArrayBuffer>[] = []
  for await (const chunk of readChunks(response, { signal, silenceMs: undefined })) {
    allowance.bytes -= chunk.byteLength
    if (allowance.bytes < 0) throw new RemoteFault('remote_too_much')
    chunks.push(chunk)
  }
  return parseJsonFields(new Uint8Array(await new Blob(chunks).arrayBuffer()))
}

function isEventStream({ headers }: Response): boolean {
  return /^text\/event-stream\b/i.test(headers.get('content-type') ?? '')
}

/** Ends where the other side ends it. Throws `remote_unreachable` where it was cut, or nothing came for too long. */
async function* readEventFrames(
  response: Response,
  limits: Pick<RemoteLimits, 'maxEventBytes' | 'silenceMs'>,
  allowance: Allowance,
  signal: AbortSignal,
): AsyncGenerator<Frame> {
  const createSizeLimitFault = () => new RemoteFault('remote_too_much')
  async function* readChunksWithinAllowance(): AsyncGenerator<Uint8Array> {
    for await (const chunk of readChunks(response, { signal, silenceMs: limits.silenceMs })) {
      allowance.bytes -= chunk.byteLength
      if (allowance.bytes < 0) throw createSizeLimitFault()
      yield chunk
    }
  }
  const bounds = { maxEventLength: limits.maxEventBytes, tooLong: createSizeLimitFault }
  for await (const { id, event, data } of readServerSentEvents(readChunksWithinAllowance(), bounds)) {
    const fields = parseJsonFields(new TextEncoder().encode(data))
    allowance.events -= 1
    if (allowance.events < 0) throw createSizeLimitFault()
    yield { fields, id: id === '' || id.length > 512 ? undefined : id, isError: event === 'error' }
  }
}

function parseJsonFields(bytes: Uint8Array): Fields {
  const read = parseBoundedJson(bytes)
  if (!read.ok) throw malformedAnswerFault()
  return read.value
}

/** Every wait is bounded: by the signal, and where silence counts, by that. */
async function* readChunks(
  { body }: Response,
  { signal, silenceMs }: { readonly signal: AbortSignal; readonly silenceMs: number | undefined },
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  if (body === null) return
  const reader: ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>> = body.getReader()
  try {
    for (;;) {
      const read = await withSilenceLimit(reader.read(), signal, silenceMs)
      if (read.done) return
      yield read.value
    }
  } finally {
    void reader.cancel().catch(() => undefined)
  }
}

function withSilenceLimit<T>(work: Promise<T>, signal: AbortSignal, silenceMs: number | undefined): Promise<T> {
  const told = work.catch((error: unknown) => {
    throw new RemoteFault(isTooLargeError(error) ? 'remote_too_much' : 'remote_unreachable')
  })
  const createSilenceFault = () => new RemoteFault('remote_unreachable')
  return rejectWhenAborted(silenceMs === undefined ? told : withTimeout(told, silenceMs, createSilenceFault), signal)
}

/** The guard's own limit, told as an error of the stream. */
function isTooLargeError(error: unknown): boolean {
  return (
    isRemoteFault(error, 'remote_too_much') ||
    (error instanceof Error && 'code' in error && error.code === 'bad_request')
  )
}

export type RemoteLimits = {
  /** For the whole answer; a task that takes longer is cancelled. */
  readonly timeoutMs: number
  /** Without a byte, not even a heartbeat: then the stream counts as cut. */
  readonly silenceMs: number
  /** Until the headers of an answer are there. */
  readonly headersMs: number
  /** Of everything that is read for one message. */
  readonly maxBytes: number
  readonly maxEventBytes: number
  readonly maxEvents: number
  readonly maxArtifacts: number
}

export const maxCardBytes = 256 * 1024

export const defaultLimits: RemoteLimits = {
  timeoutMs: 5 * 60_000,
  silenceMs: 60_000,
  headersMs: 30_000,
  maxBytes: 16 * 1024 * 1024,
  maxEventBytes: 4 * 1024 * 1024,
  maxEvents: 10_000,
  maxArtifacts: 64,
}
