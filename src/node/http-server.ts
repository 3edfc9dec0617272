// The server that strangers reach: how many connections, how long a head and a body may take, and how many bytes are held meanwhile.
// What goes beyond is answered in words where an answer can still be heard, closed, and counted.
import { createServer, IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Context } from 'hono'
import { type RequestRefusal, requestRefusedAnswer } from '../api/http-answers.ts'
import type { HttpLimits } from '../config/limits.ts'
import type { Log, TransportAnswer } from '../contract/index.ts'
import type { HttpListenerUse } from '../observability/process-metrics.ts'
import { createBodyBudget, type TrackedBody } from './body-budget.ts'
import { createConnectionLimits, sharedAddress } from './connection-limits.ts'

export type HttpServer = { readonly server: Server; readonly use: () => HttpListenerUse }

type HttpServerDeps = { readonly monotonicMs: () => number; readonly log: Log }

const sweepMs = 500
/** So long a caller that is still sending has to hear its answer. */
const lingerMs = 500
/** An answer that waits behind others on the same connection gets no longer than this. */
const maxRefusalMs = 2_000
const logEveryMs = 60_000

export function createHttpServer(listener: RequestListener, limits: HttpLimits, deps: HttpServerDeps): HttpServer {
  const refusals = countRefusals(deps)
  const budget = createBodyBudget(limits, deps.monotonicMs)
  const bounds = createConnectionLimits(limits, refusals.add, deps.monotonicMs)
  const answering = new WeakMap<Socket, ServerResponse>()

  const refuseRequest = (incoming: TrackedMessage, outgoing: ServerResponse, reason: RequestRefusal): void => {
    refusals.add(reason)
    incoming.isRefused = true
    const { socket } = incoming
    if (outgoing.headersSent) {
      socket.destroy()
      return
    }
    sendRefusal(outgoing, requestRefusedAnswer(reason))
    setTimeout(() => socket.destroy(), maxRefusalMs).unref()
  }
  const trackBody = (incoming: TrackedMessage, outgoing: ServerResponse): boolean => {
    const { headers, socket, url = '' } = incoming
    const declared = headers['content-length']
    if (headers['transfer-encoding'] === undefined && Number(declared ?? 0) === 0) return true
    const body = budget.begin({
      address: sharedAddress(socket.remoteAddress),
      declaredBytes: declared === undefined ? undefined : Number(declared),
      isWebhook: url.startsWith('/hooks/'),
      refuse: (reason) => refuseRequest(incoming, outgoing, reason),
    })
    incoming.tracked = body
    // Closed once it is answered or the caller is gone: by then nothing holds the bytes.
    outgoing.once('close', () => {
      body?.end()
      // What was not read would keep the connection for as long as the rest takes.
      if (!incoming.complete && !socket.destroyed) setTimeout(() => closeUnreadConnection(incoming), lingerMs).unref()
    })
    return body !== undefined
  }
  const handleIncoming = (incoming: TrackedMessage, outgoing: ServerResponse, isAsked: boolean): void => {
    const { socket } = incoming
    if (!bounds.begin(socket)) return
    answering.set(socket, outgoing)
    outgoing.once('close', () => bounds.finish(socket))
    const hasRoom = trackBody(incoming, outgoing)
    const reason = incoming.rawHeaders.length > limits.maxHeaders * 2 ? 'too_many_headers' : 'bodies_full'
    if (!hasRoom || reason === 'too_many_headers') {
      refuseRequest(incoming, outgoing, reason)
      return
    }
    // Not before a handler wants the body: a client refused by its headers never sends it.
    if (isAsked)
      incoming.onWanted = () => {
        if (!outgoing.headersSent) outgoing.writeContinue()
      }
    listener(incoming, outgoing)
  }

  const server = createServer(
    {
      IncomingMessage: TrackedMessage,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: Math.max(limits.requestTimeoutMs, limits.headersTimeoutMs),
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      maxHeaderSize: limits.maxHeaderBytes,
      connectionsCheckingInterval: sweepMs,
    },
    (incoming, outgoing) => handleIncoming(incoming, outgoing, false),
  )
  server.on('checkContinue', (incoming: TrackedMessage, outgoing) => handleIncoming(incoming, outgoing, true))
  server.on('connection', bounds.admit)
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const reason = parserErrorRefusal(error)
    if (reason !== undefined) refusals.add(reason)
    const isAnswering = bounds.isBusy(socket) && answering.get(socket)?.headersSent === true
    if (reason === undefined || !socket.writable || isAnswering) {
      socket.destroy()
      return
    }
    socket.end(toHttpText(requestRefusedAnswer(reason)))
    setTimeout(() => socket.destroy(), lingerMs).unref()
  })
  const sweeping = setInterval(() => {
    budget.sweep()
    bounds.sweep()
    refusals.tell()
  }, sweepMs).unref()
  server.once('close', () => clearInterval(sweeping))
  return { server, use: () => ({ bodies: budget.use(), connections: bounds.use(), refused: refusals.counts() }) }
}

function closeUnreadConnection({ complete, socket }: TrackedMessage): void {
  if (!complete) socket.destroy()
}

/** The connection ends a moment after the answer: closed while the caller still sends, it would take the answer with it. */
function sendRefusal(outgoing: ServerResponse, { status, headers, body = '' }: TransportAnswer): void {
  outgoing.writeHead(status, { ...headers, connection: 'close', 'content-length': Buffer.byteLength(body) })
  outgoing.write(body)
  setTimeout(() => outgoing.end(), lingerMs).unref()
}

/** Where there is no response object: what was said was no request. */
function toHttpText({ status, headers, body = '' }: TransportAnswer): string {
  const fields = { ...headers, connection: 'close', 'content-length': Buffer.byteLength(body) }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} Refused\r\n${lines.join('')}\r\n${body}`
}

/** Undefined: the caller broke off, which is not an error. */
function parserErrorRefusal({ code = '' }: NodeJS.ErrnoException): RequestRefusal | undefined {
  if (code === 'HPE_HEADER_OVERFLOW') return 'headers_too_large'
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'headers_timeout'
  return code.startsWith('HPE_') && code !== 'HPE_INVALID_EOF_STATE' ? 'malformed_http' : undefined
}

function countRefusals({ monotonicMs, log }: HttpServerDeps) {
  const counts = new Map<string, number>()
  let untold = 0
  let last = ''
  let toldAt = Number.NEGATIVE_INFINITY
  return {
    add(reason: string): void {
      counts.set(reason, (counts.get(reason) ?? 0) + 1)
      untold += 1
      last = reason
    },
    /** One line a minute, however many there were: strangers do not fill the log. */
    tell(): void {
      if (untold === 0 || monotonicMs() - toldAt < logEveryMs) return
      log.warn('requests_refused', { count: untold, reason: last })
      untold = 0
      toldAt = monotonicMs()
    },
    counts: (): ReadonlyMap<string, number> => counts,
  }
}

// A request of the Node edge whose body is counted as it comes in, before anything else sees it.

class TrackedMessage extends IncomingMessage {
  /** Absent: it carries no body, or comes from a socket that nothing is counted on. */
  tracked: TrackedBody | undefined
  /** Refused while it came in: nothing more of it is handed on, not even that it ended. */
  isRefused = false
  /** Called when its body is wanted for the first time (RFC 9110 section 10.1.1: then a client that waits may go on). */
  onWanted: (() => void) | undefined

  override push(chunk: Uint8Array | null, encoding?: BufferEncoding): boolean {
    // False: the connection is not read on.
    if (this.isRefused) return false
    if (chunk === null) this.tracked?.complete()
    else if (this.tracked?.take(chunk.length) === false) return false
    return super.push(chunk, encoding)
  }

  override _read(size: number): void {
    const { onWanted } = this
    this.onWanted = undefined
    onWanted?.()
    super._read(size)
  }
}

/** It is known whose the body is, or it flows on to where it is kept: it counts no more among what is held for strangers. */
export function releaseTrackedBody(context: Context): void {
  // The Node server puts the incoming message into the environment of every context.
  const { incoming } = (context.env ?? {}) as { incoming?: IncomingMessage }
  if (incoming instanceof TrackedMessage) incoming.tracked?.release()
}
