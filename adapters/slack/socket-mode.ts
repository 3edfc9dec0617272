// Socket Mode as an inbound source: envelopes in, acknowledged only after they are committed; reconnects by itself.

import type { SocketModeClient } from '@slack/socket-mode'
import * as z from 'zod'
import type { ChannelDeps, Ingress, PolledBatch, RawRequest, TransportAnswer } from '../../src/contract/index.ts'
import { GatewayError, importOnNode, type JsonObject, type Secret } from '../../src/lib/index.ts'

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

export function createSocketStateTracker(): WatchedSocket {
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

export function pollSocketMode(settings: SocketSettings, deps: SocketSourceDeps): NonNullable<Ingress['poll']> {
  return async function* yieldEnvelopeBatches(_cursor, signal) {
    const waiting: TakenEnvelope[] = []
    let wakeup = Promise.withResolvers<void>()
    const line = keepSocketConnected(settings, deps, signal, (taken) => {
      if (waiting.length < maxWaiting) waiting.push(taken)
      wakeup.resolve()
    })
    deps.watch?.tell('connecting')
    // Told by the throw below; the promise always has a listener.
    line.failed.catch(() => {
      deps.watch?.tell('refused')
      wakeup.resolve()
    })
    signal.addEventListener('abort', () => wakeup.resolve(), { once: true })
    try {
      while (!signal.aborted) {
        if (waiting.length > 0) yield envelopesToBatch(waiting.splice(0, maxBatch), deps)
        else {
          await Promise.race([wakeup.promise, line.failed])
          wakeup = Promise.withResolvers()
        }
      }
    } finally {
      await line.close()
      if (deps.watch?.state() !== 'refused') deps.watch?.tell('idle')
    }
  }
}

function envelopesToBatch(taken: readonly TakenEnvelope[], { own, now }: SocketSourceDeps): PolledBatch {
  const receivedAt = new Date(now()).toISOString()
  return {
    requests: taken.map(({ envelope }) => own.add({ ...envelopeToRequest(envelope), receivedAt, from: 'remote' })),
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
  const open = new Set<Socket['close']>()
  let failures = 0
  while (!stopped.aborted) {
    const since = deps.now()
    try {
      const socket = await openSocket(settings, deps, take)
      open.add(socket.close)
      void socket.closed.then(() => open.delete(socket.close))
      deps.watch?.tell('connected')
      await Promise.race([socket.over, ended])
      deps.watch?.tell('connecting')
      failures = deps.now() - since < goodAfterMs ? failures + 1 : 0
    } catch (error) {
      if (permanentRefusals.test(String(error instanceof Error ? error.message : ''))) throw tokenRefusedError(error)
      failures += 1
    }
    await sleepUntilEnded(reconnectPauseMs(failures, deps.firstPauseMs ?? 500), ended)
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

async function sleepUntilEnded(ms: number, ended: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  await Promise.race([ended, new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)))])
  if (timer !== undefined) clearTimeout(timer)
}

// Requests that came over our own authenticated socket are known by the identity of their bytes: nothing that a request can
// contain, header or body, makes it one of them.

type SocketRequests = {
  readonly add: (rawRequest: RawRequest) => RawRequest
  readonly has: (rawRequest: RawRequest) => boolean
}

export function createSocketRequestRegistry(): SocketRequests {
  const own = new WeakSet<Uint8Array>()
  return {
    add(rawRequest) {
      own.add(rawRequest.bytes)
      return rawRequest
    },
    has: ({ bytes }) => own.has(bytes),
  }
}

// Slack's client connects and watches the pings; reading and acknowledging are ours, because the client fails outside of any
// promise on an envelope without an event, and on a reconnect that is refused.

type SocketSettings = {
  /** The app-level token, `xapp-…`, with the scope connections:write. */
  readonly appToken: Secret
  readonly apiUrl: string
}

export type Socket = {
  /** Settles when another connection is needed: Slack said so, or this one is gone. */
  readonly over: Promise<void>
  /** Settles when it is closed: what was not yet acknowledged on it has been, or will not be. */
  readonly closed: Promise<void>
  readonly close: () => Promise<void>
}

/** An envelope, and the way back to the connection it came over. */
type TakenEnvelope = { readonly envelope: Envelope; readonly send: (text: string) => void }

const helloMs = 15_000
const openMs = 10_000
const closeMs = 2_000
/** How long a connection that Slack gives up is kept for what was not yet acknowledged on it. */
const lingerMs = 8_000

async function openSocket(
  settings: SocketSettings,
  deps: Pick<ChannelDeps, 'fetch'>,
  take: (taken: TakenEnvelope) => void,
): Promise<Socket> {
  const client = await createSocketClient(settings, deps)
  const over = Promise.withResolvers<void>()
  const closed = Promise.withResolvers<void>()
  const unanswered = new Set<string>()
  let linger: ReturnType<typeof setTimeout> | undefined
  const closeSocketConnection = (): Promise<void> => {
    if (linger !== undefined) clearTimeout(linger)
    over.resolve()
    return closeSocketClient(client).finally(closed.resolve)
  }
  const sendEnvelopeAnswer = (id: string, text: string): void => {
    unanswered.delete(id)
    // On a connection that is gone nothing can be said; Slack delivers again and is told then.
    if (client.websocket?.isActive() === true) client.websocket.send(text, () => {})
    if (linger !== undefined && unanswered.size === 0) void closeSocketConnection()
  }
  client.removeAllListeners('ws_message')
  client.on('ws_message', (data: unknown) => {
    const message = parseSocketMessage(typeof data === 'string' ? data : '')
    if (message.kind === 'hello') client.emit('connected')
    if (message.kind === 'disconnect') {
      linger ??= setTimeout(() => void closeSocketConnection(), unanswered.size === 0 ? 0 : lingerMs)
      over.resolve()
    }
    if (message.kind !== 'envelope') return
    const { envelope } = message
    unanswered.add(envelope.envelope_id)
    take({ envelope, send: (text) => sendEnvelopeAnswer(envelope.envelope_id, text) })
  })
  client.on('disconnected', () => void closeSocketConnection())
  await startSocketClient(client)
  return { over: over.promise, closed: closed.promise, close: closeSocketConnection }
}

async function createSocketClient(
  { appToken, apiUrl }: SocketSettings,
  deps: Pick<ChannelDeps, 'fetch'>,
): Promise<SocketModeClient> {
  const { SocketModeClient: Client } = await importOnNode<typeof import('@slack/socket-mode')>('@slack/socket-mode')
  return new Client({
    appToken: appToken.reveal(),
    // Reconnecting is ours: the client's own loses the error when it is refused.
    autoReconnectEnabled: false,
    logger: silentSocketLogger as unknown as NonNullable<ConstructorParameters<typeof Client>[0]>['logger'],
    clientOptions: {
      slackApiUrl: apiUrl,
      fetch: (input, init) => deps.fetch(input, init),
      retryConfig: { retries: 0 },
      rejectRateLimitedCalls: true,
      allowAbsoluteUrls: false,
      timeout: openMs,
    },
  } as NonNullable<ConstructorParameters<typeof Client>[0]>)
}

/** The client logs whole payloads and tokens in addresses; what matters of it is told by how a connection ends. */
const silentSocketLogger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  setLevel: () => {},
  getLevel: () => 'error',
  setName: () => {},
}

async function startSocketClient(client: SocketModeClient): Promise<void> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error('no hello in time')), helloMs)
  try {
    await Promise.race([client.start(), late.promise])
  } catch (error) {
    await closeSocketClient(client)
    throw error
  } finally {
    clearTimeout(timer)
  }
}

async function closeSocketClient(client: SocketModeClient): Promise<void> {
  // Asked a second time, the client closes without waiting for the other side.
  const timer = setTimeout(() => client.websocket?.disconnect(), closeMs)
  try {
    if (client.websocket?.isActive() === true) await client.disconnect()
  } finally {
    clearTimeout(timer)
  }
}

// An envelope becomes the HTTP request Slack would have made of it: from here on there is one path for both.

const envelopeSchema = z.object({
  envelope_id: z.string().min(1),
  type: z.string(),
  payload: z.record(z.string(), z.unknown()).catch({}),
  accepts_response_payload: z.boolean().catch(false),
  retry_attempt: z.number().int().nonnegative().optional().catch(undefined),
  retry_reason: z.string().optional().catch(undefined),
})

type Envelope = z.output<typeof envelopeSchema>

export type SocketMessage =
  | { readonly kind: 'hello' }
  /** The platform will close this connection soon and wants a new one. */
  | { readonly kind: 'disconnect' }
  | { readonly kind: 'envelope'; readonly envelope: Envelope }
  | { readonly kind: 'noise' }

function parseSocketMessage(text: string): SocketMessage {
  const value = tryParseJson(text)
  const type = typeof value === 'object' && value !== null && 'type' in value ? value.type : undefined
  if (type === 'hello' || type === 'disconnect') return { kind: type }
  const envelope = envelopeSchema.safeParse(value)
  return envelope.success ? { kind: 'envelope', envelope: envelope.data } : { kind: 'noise' }
}

function envelopeToRequest({
  type,
  payload,
  retry_attempt,
  retry_reason,
}: Envelope): Pick<RawRequest, 'bytes' | 'headers'> {
  const { text, contentType } = envelopeBody(type, payload)
  return {
    bytes: new TextEncoder().encode(text),
    headers: {
      'content-type': contentType,
      ...(retry_attempt === undefined ? {} : { 'x-slack-retry-num': String(retry_attempt) }),
      ...(retry_reason === undefined ? {} : { 'x-slack-retry-reason': retry_reason }),
    },
  }
}

type Body = { readonly text: string; readonly contentType: string }

const form = 'application/x-www-form-urlencoded'

function envelopeBody(type: string, payload: Readonly<Record<string, unknown>>): Body {
  if (type === 'interactive')
    return { text: new URLSearchParams({ payload: JSON.stringify(payload) }).toString(), contentType: form }
  if (type === 'slash_commands') {
    const fields = Object.entries(payload).map(([name, value]) => [name, formFieldValue(value)])
    return { text: new URLSearchParams(fields).toString(), contentType: form }
  }
  return { text: JSON.stringify(payload), contentType: 'application/json' }
}

/** What we send back, or undefined where it was not taken: then it must come again. */
function envelopeAnswer(
  { envelope_id, accepts_response_payload }: Envelope,
  answer: TransportAnswer,
): string | undefined {
  if (answer.status < 200 || answer.status > 299) return undefined
  const payload = accepts_response_payload ? parseJsonObject(answer.body) : undefined
  return JSON.stringify(payload === undefined ? { envelope_id } : { envelope_id, payload })
}

function parseJsonObject(body: string | undefined): JsonObject | undefined {
  const value = body === undefined ? undefined : tryParseJson(body)
  // Parsed from text just now: whatever it holds is JSON.
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
}

function formFieldValue(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? '')
}

function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
