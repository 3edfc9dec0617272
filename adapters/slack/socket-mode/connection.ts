// One connection of Socket Mode. Slack's client connects and watches the pings; reading and acknowledging are ours, because the
// client fails outside of any promise on an envelope without an event, and on a reconnect that is refused.
import type { SocketModeClient } from '@slack/socket-mode'
import * as z from 'zod'
import {
  type ChannelDeps,
  importOnNode,
  type JsonObject,
  type RawRequest,
  type Secret,
  type TransportAnswer,
} from '../../../src/contract/index.ts'

export type SocketSettings = {
  /** The app-level token, `xapp-…`, with the scope connections:write. */
  readonly appToken: Secret
  readonly apiUrl: string
}

export type Socket = {
  /** Settles when another connection is needed: Slack said so, or this one is gone. */
  readonly over: Promise<void>
  readonly close: () => Promise<void>
}

/** An envelope, and the way back to the connection it came over. */
export type TakenEnvelope = { readonly envelope: Envelope; readonly send: (text: string) => void }

const helloMs = 15_000
const openMs = 10_000
const closeMs = 2_000
/** How long a connection that Slack gives up is kept for what was not yet acknowledged on it. */
const lingerMs = 8_000

export async function openSocket(
  settings: SocketSettings,
  deps: Pick<ChannelDeps, 'fetch'>,
  take: (taken: TakenEnvelope) => void,
): Promise<Socket> {
  const client = await createSocketClient(settings, deps)
  const over = Promise.withResolvers<void>()
  const unanswered = new Set<string>()
  let linger: ReturnType<typeof setTimeout> | undefined
  const closeSocketConnection = (): Promise<void> => {
    if (linger !== undefined) clearTimeout(linger)
    over.resolve()
    return closeSocketClient(client)
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
  return { over: over.promise, close: closeSocketConnection }
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

// An envelope of Socket Mode as the HTTP request Slack would have made of it: from here on there is one path for both.

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

export function envelopeToRequest({
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
export function envelopeAnswer(
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
