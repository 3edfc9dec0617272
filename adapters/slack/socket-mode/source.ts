// Socket Mode as an inbound source: envelopes in, acknowledged only after they are committed; reconnects by itself.
import {
  type Adapter,
  type ChannelDeps,
  GatewayError,
  type RawRequest,
  type SourceBatch,
} from '../../../src/contract/index.ts'
import { envelopeAnswer, envelopeToRequest, openSocket, type SocketSettings, type TakenEnvelope } from './connection.ts'

export type SocketSourceDeps = Pick<ChannelDeps, 'fetch' | 'now'> & {
  readonly own: SocketRequests
  readonly watch?: WatchedSocket
  /** First pause before another try to connect; doubled up to half a minute. */
  readonly firstPauseMs?: number
}

/** Whether the socket is open, for the probe of the connection. `idle`: another process has it, or none was asked for. */
export type SocketWatch = {
  readonly state: () => SocketState
  /** Resolves when a first connection was made or refused. */
  readonly settled: (signal: AbortSignal) => Promise<void>
}
export type SocketState = 'idle' | 'connecting' | 'connected' | 'refused'

type WatchedSocket = SocketWatch & { readonly tell: (state: SocketState) => void }

export function createSocketWatch(): WatchedSocket {
  let state: SocketState = 'idle'
  const first = Promise.withResolvers<void>()
  return {
    state: () => state,
    settled: (signal) =>
      Promise.race([
        first.promise,
        new Promise<void>((resolve) => {
          if (signal.aborted) resolve()
          signal.addEventListener('abort', () => resolve(), { once: true })
        }),
      ]),
    tell(now) {
      // It stays refused while it is tried again, which is soon and in vain.
      if (!(state === 'refused' && now === 'connecting')) state = now
      if (now === 'connected' || now === 'refused') first.resolve()
    },
  }
}

/** More than this is left unacknowledged: Slack delivers it again when we are less busy. */
const maxWaiting = 1_000
const maxBatch = 100
const longestPauseMs = 30_000
/** A connection that lived so long was a good one; the next failure is the first again. */
const goodAfterMs = 10_000

/** Answers of `apps.connections.open` that no waiting will change. */
const permanentRefusals =
  /invalid_auth|not_authed|account_inactive|token_revoked|token_expired|not_allowed_token_type|missing_scope/

export function createSocketSource(settings: SocketSettings, deps: SocketSourceDeps): NonNullable<Adapter['source']> {
  return async function* envelopes(_cursor, signal) {
    const waiting: TakenEnvelope[] = []
    let bell = Promise.withResolvers<void>()
    const line = keepSocketConnected(settings, deps, signal, (taken) => {
      if (waiting.length < maxWaiting) waiting.push(taken)
      bell.resolve()
    })
    deps.watch?.tell('connecting')
    // Told by the throw below; the promise always has a listener.
    line.failed.catch(() => {
      deps.watch?.tell('refused')
      bell.resolve()
    })
    signal.addEventListener('abort', () => bell.resolve(), { once: true })
    try {
      while (!signal.aborted) {
        if (waiting.length > 0) yield socketBatch(waiting.splice(0, maxBatch), deps)
        else {
          await Promise.race([bell.promise, line.failed])
          bell = Promise.withResolvers()
        }
      }
    } finally {
      await line.close()
      if (deps.watch?.state() !== 'refused') deps.watch?.tell('idle')
    }
  }
}

function socketBatch(taken: readonly TakenEnvelope[], { own, now }: SocketSourceDeps): SourceBatch {
  const receivedAt = new Date(now()).toISOString()
  return {
    arrivals: taken.map(({ envelope }) => own.add({ ...envelopeToRequest(envelope), receivedAt, from: 'remote' })),
    // Slack keeps the place itself: what is not acknowledged comes again.
    cursor: '',
    async acknowledge(answers) {
      for (const [at, { envelope, send }] of taken.entries()) {
        const answer = answers[at]
        const text = answer === undefined ? undefined : envelopeAnswer(envelope, answer)
        if (text !== undefined) send(text)
      }
    },
  }
}

type SocketLink = {
  /** Rejects when Slack refuses us for good; never settles otherwise. */
  readonly failed: Promise<never>
  readonly close: () => Promise<void>
}

function keepSocketConnected(
  settings: SocketSettings,
  deps: SocketSourceDeps,
  signal: AbortSignal,
  take: (taken: TakenEnvelope) => void,
): SocketLink {
  const failed = Promise.withResolvers<never>()
  const closing = new AbortController()
  const stopped = AbortSignal.any([signal, closing.signal])
  const done = reconnectUntilStopped(settings, deps, stopped, take).catch((error: unknown) => failed.reject(error))
  return {
    failed: failed.promise,
    async close() {
      closing.abort()
      await done
    },
  }
}

async function reconnectUntilStopped(
  settings: SocketSettings,
  deps: SocketSourceDeps,
  stopped: AbortSignal,
  take: (taken: TakenEnvelope) => void,
): Promise<void> {
  const ended = new Promise<void>((resolve) => stopped.addEventListener('abort', () => resolve(), { once: true }))
  const open = new Set<() => Promise<void>>()
  let failures = 0
  while (!stopped.aborted) {
    const since = deps.now()
    try {
      const socket = await openSocket(settings, deps, take)
      open.add(socket.close)
      deps.watch?.tell('connected')
      await Promise.race([socket.over, ended])
      deps.watch?.tell('connecting')
      failures = deps.now() - since < goodAfterMs ? failures + 1 : 0
    } catch (error) {
      if (permanentRefusals.test(String(error instanceof Error ? error.message : ''))) throw tokenRefusedError(error)
      failures += 1
    }
    await pauseUnlessEnded(reconnectPauseMs(failures, deps.firstPauseMs ?? 500), ended)
  }
  await Promise.all([...open].map((close) => close()))
}

function tokenRefusedError(cause: unknown): GatewayError {
  const remedy = 'make a token with the scope connections:write under Basic Information and set SLACK_APP_TOKEN'
  return new GatewayError('config_invalid', `[slack] the app-level token was refused; ${remedy}`, { cause })
}

function reconnectPauseMs(failures: number, firstMs: number): number {
  return failures === 0 ? 0 : Math.min(firstMs * 2 ** (failures - 1), longestPauseMs)
}

async function pauseUnlessEnded(ms: number, ended: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  await Promise.race([ended, new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)))])
  if (timer !== undefined) clearTimeout(timer)
}

// Which requests came over our own authenticated socket. Known by the identity of their bytes: nothing that a request can
// contain, header or body, makes it one of them.

type SocketRequests = {
  readonly add: (arrival: RawRequest) => RawRequest
  readonly has: (arrival: RawRequest) => boolean
}

export function createSocketRequests(): SocketRequests {
  const own = new WeakSet<Uint8Array>()
  return {
    add(arrival) {
      own.add(arrival.bytes)
      return arrival
    },
    has: ({ bytes }) => own.has(bytes),
  }
}
