// The HTTP server and its limits: how many connections, how long a head and a body may take, and how many bytes are held
// meanwhile. What goes beyond is answered where an answer can still be heard, closed, and counted.
import { createServer, IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Context } from 'hono'
import { type RequestRefusal, requestRefusedAnswer } from '../api/http-answers.ts'
import type { HttpLimits } from '../config/limits.ts'
import type { TransportAnswer } from '../contract/index.ts'
import type { Log } from '../lib/log.ts'
import type { HttpListenerUse } from '../observability/process-metrics.ts'
import { clientAddressForLimit, createConnectionLimits } from './connection-limits.ts'

export type HttpServer = { readonly server: Server; readonly use: () => HttpListenerUse }

type HttpServerDeps = { readonly monotonicMs: () => number; readonly log: Log }

const sweepMs = 500
/** So long a caller that is still sending has to hear its answer. */
const lingerMs = 500
/** An answer that waits behind others on the same connection gets no longer than this. */
const maxRefusalMs = 2_000
const logEveryMs = 60_000

export function createHttpServer(listener: RequestListener, limits: HttpLimits, deps: HttpServerDeps): HttpServer {
  const refusals = createRefusalCounter(deps)
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
  const handleIncomingRequest = (incoming: TrackedMessage, outgoing: ServerResponse): void => {
    const { headers, rawHeaders, socket, url = '' } = incoming
    if (!bounds.begin(socket)) return
    answering.set(socket, outgoing)
    const declared = headers['content-length']
    const hasBody = headers['transfer-encoding'] !== undefined || Number(declared ?? 0) !== 0
    if (hasBody)
      incoming.tracked = budget.begin({
        address: clientAddressForLimit(socket.remoteAddress),
        declaredBytes: declared === undefined ? undefined : Number(declared),
        isWebhook: url.startsWith('/hooks/'),
        refuse: (reason) => refuseRequest(incoming, outgoing, reason),
      })
    // Closed once it is answered or the caller is gone: by then nothing holds the bytes.
    outgoing.once('close', () => {
      bounds.finish(socket)
      incoming.tracked?.end()
      // What was not read would keep the connection for as long as the rest takes.
      if (hasBody && !incoming.complete && !socket.destroyed)
        setTimeout(() => closeUnreadConnection(incoming), lingerMs).unref()
    })
    if (rawHeaders.length > limits.maxHeaders * 2) refuseRequest(incoming, outgoing, 'too_many_headers')
    else if (hasBody && incoming.tracked === undefined) refuseRequest(incoming, outgoing, 'bodies_full')
    else listener(incoming, outgoing)
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
    handleIncomingRequest,
  )
  server.on('checkContinue', (incoming: TrackedMessage, outgoing) => {
    // Not before a handler wants the body: a client refused by its headers never sends it.
    incoming.onWanted = () => {
      if (!outgoing.headersSent) outgoing.writeContinue()
    }
    handleIncomingRequest(incoming, outgoing)
  })
  server.on('connection', bounds.admit)
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const reason = parserErrorRefusal(error)
    if (reason !== undefined) refusals.add(reason)
    const isAnswering = bounds.isBusy(socket) && answering.get(socket)?.headersSent === true
    if (reason === undefined || !socket.writable || isAnswering) {
      socket.destroy()
      return
    }
    socket.end(toRawHttpResponse(requestRefusedAnswer(reason)))
    setTimeout(() => socket.destroy(), lingerMs).unref()
  })
  const sweeping = setInterval(() => {
    budget.sweep()
    bounds.sweep()
    refusals.report()
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
function toRawHttpResponse({ status, headers, body = '' }: TransportAnswer): string {
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

function createRefusalCounter({ monotonicMs, log }: HttpServerDeps) {
  const counts = new Map<string, number>()
  let unreported = 0
  let last = ''
  let reportedAt = Number.NEGATIVE_INFINITY
  return {
    add(reason: string): void {
      counts.set(reason, (counts.get(reason) ?? 0) + 1)
      unreported += 1
      last = reason
    },
    /** One line a minute, however many there were: strangers do not fill the log. */
    report(): void {
      if (unreported === 0 || monotonicMs() - reportedAt < logEveryMs) return
      log.warn('requests_refused', { count: unreported, reason: last })
      unreported = 0
      reportedAt = monotonicMs()
    },
    counts: (): ReadonlyMap<string, number> => counts,
  }
}

// A body is counted as it comes in, before anything else sees it.

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

// How many bytes of bodies this process holds for callers it does not know yet, and how long it waits for them. All bodies share
// one budget; a part of it is kept for small ones, so that a flood of large bodies does not silence ordinary webhooks.

export type BodyRefusal = 'bodies_full' | 'body_timeout' | 'body_fragmented'

export type BodyFacts = {
  /** What shares what one address may have; undefined: no share of its own. */
  readonly address: string | undefined
  /** Undefined: it does not say how long it will be. */
  readonly declaredBytes: number | undefined
  /** A webhook's body is short, and its sender does not send slowly. */
  readonly isWebhook: boolean
  /** Ends the request with an answer. Called at most once; `end` follows when the connection has let go of the bytes. */
  readonly refuse: (reason: BodyRefusal) => void
}

/** One body, from the head of its request until nothing holds its bytes any more. */
export type TrackedBody = {
  /** False: these bytes are not to be kept, the request is being refused. */
  readonly take: (bytes: number) => boolean
  /** All of it is here; no time runs any more. */
  readonly complete: () => void
  /** It is known whose it is, or it is not held but passed on: its bytes count no more, its time still does. */
  readonly release: () => void
  readonly end: () => void
}

export type BodyUse = { readonly bytes: number; readonly bodies: number; readonly limitBytes: number }

export type BodyBudget = {
  /** Its declared length is set aside. Undefined: there is no room for it, and not a byte of it should be read. */
  readonly begin: (facts: BodyFacts) => TrackedBody | undefined
  /** Refuses what takes too long. Called about once a second. */
  readonly sweep: () => void
  readonly use: () => BodyUse
}

export type BudgetLimits = Pick<HttpLimits, 'bodyBytes' | 'addressShare' | 'bodyTimeoutMs' | 'minBodyBytesPerSecond'>

/** Larger than nearly every webhook; bodies up to here may use what larger ones have to leave free. */
const smallBytes = 64 * 1024
const largeShare = 0.75
/** Under pressure the oldest body makes room, once it has had time to arrive. Honest ones are complete by then. */
const minAgeMs = 1_000
/** What a piece costs besides its bytes. A body of one-byte pieces would take two hundred times its length. */
const pieceBytes = 256
const minPieceBytes = 32
const stepBytes = 16 * 1024
const freePieces = 1024
/** What was refused and is about to be let go may be counted on, up to this share. */
const leavingShare = 0.25

type Entry = {
  readonly facts: BodyFacts
  readonly startedAt: number
  received: number
  pieces: number
  held: number
  isLarge: boolean
  state: 'reading' | 'complete' | 'refused' | 'ended'
}

export function createBodyBudget(limits: BudgetLimits, now: () => number): BodyBudget {
  const { bodyBytes: total } = limits
  // In the order in which they began.
  const entries = new Set<Entry>()
  const byAddress = new Map<string, number>()
  const sums = { held: 0, large: 0, leaving: 0 }

  /** What is being refused counts in the whole until it is gone, and in no client's share. */
  const addHeldBytes = (entry: Entry, bytes: number): void => {
    entry.held += bytes
    sums.held += bytes
    if (entry.state === 'refused') {
      sums.leaving += bytes
      return
    }
    if (entry.isLarge) sums.large += bytes
    const { address } = entry.facts
    if (address === undefined) return
    const sum = (byAddress.get(address) ?? 0) + bytes
    if (sum <= 0) byAddress.delete(address)
    else byAddress.set(address, sum)
  }
  const refuseBody = (entry: Entry, reason: BodyRefusal): void => {
    const { held } = entry
    addHeldBytes(entry, -held)
    entry.state = 'refused'
    addHeldBytes(entry, held)
    entry.facts.refuse(reason)
  }
  /** Who has to make room before this one may have so many bytes more; undefined: there is room. */
  const createCrowdingCheck = ({ isLarge, facts }: Entry, bytes: number): ((other: Entry) => boolean) | undefined => {
    const isFull = sums.held + bytes > total * (1 + leavingShare) || sums.held - sums.leaving + bytes > total
    if (isFull) return () => true
    if (isLarge && sums.large + bytes > total * largeShare) return (other) => other.isLarge
    const { address } = facts
    if (address !== undefined && (byAddress.get(address) ?? 0) + bytes > total * limits.addressShare)
      return (other) => other.facts.address === address
    return undefined
  }
  const findOldestCrowdingBody = (isCrowding: (other: Entry) => boolean): Entry | undefined => {
    for (const each of entries) if (each.state === 'reading' && isCrowding(each)) return each
    return undefined
  }
  const makeRoomForBytes = (entry: Entry, bytes: number): boolean => {
    const isCrowding = createCrowdingCheck(entry, bytes)
    if (isCrowding === undefined) return true
    const oldest = findOldestCrowdingBody(isCrowding)
    if (oldest === undefined || oldest === entry || now() - oldest.startedAt < minAgeMs) return false
    refuseBody(oldest, 'bodies_full')
    return createCrowdingCheck(entry, bytes) === undefined
  }
  const computeBodyDeadline = ({ startedAt, received, facts }: Entry): number => {
    const more = facts.isWebhook ? 0 : (received / limits.minBodyBytesPerSecond) * 1000
    return startedAt + limits.bodyTimeoutMs + more
  }
  return {
    begin(facts) {
      const entry: Entry = {
        facts,
        startedAt: now(),
        received: 0,
        pieces: 0,
        held: 0,
        isLarge: (facts.declaredBytes ?? 0) > smallBytes,
        state: 'reading',
      }
      const wanted = stepBytes + (facts.declaredBytes ?? 0)
      if (!makeRoomForBytes(entry, wanted)) return undefined
      entries.add(entry)
      addHeldBytes(entry, wanted)
      let isReleased = false
      return {
        take(bytes) {
          entry.received += bytes
          if (entry.state !== 'reading' || isReleased) return entry.state === 'reading'
          entry.pieces += 1
          if (!entry.isLarge && entry.received > smallBytes) {
            entry.isLarge = true
            sums.large += entry.held
          }
          if (entry.pieces > freePieces + entry.received / minPieceBytes) {
            refuseBody(entry, 'body_fragmented')
            return false
          }
          // What was declared is held already; a body that does not say its length is given room step by step.
          const more = entry.received + entry.pieces * pieceBytes - entry.held
          if (more <= 0) return true
          if (makeRoomForBytes(entry, more + stepBytes)) {
            addHeldBytes(entry, more + stepBytes)
            return true
          }
          refuseBody(entry, 'bodies_full')
          return false
        },
        complete() {
          if (entry.state === 'reading') entry.state = 'complete'
        },
        release() {
          isReleased = true
          if (entry.state !== 'refused') addHeldBytes(entry, -entry.held)
        },
        end() {
          addHeldBytes(entry, -entry.held)
          entry.state = 'ended'
          entries.delete(entry)
        },
      }
    },
    sweep() {
      const at = now()
      for (const entry of [...entries])
        if (entry.state === 'reading' && at >= computeBodyDeadline(entry)) refuseBody(entry, 'body_timeout')
    },
    use: () => ({ bytes: sums.held, bodies: entries.size, limitBytes: total }),
  }
}
