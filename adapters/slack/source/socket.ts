// One connection of Socket Mode. Slack's client connects and watches the pings; reading and acknowledging are ours, because the
// client fails outside of any promise on an envelope without an event, and on a reconnect that is refused.
import type { SocketModeClient } from '@slack/socket-mode'
import { type ChannelDeps, importOnNode, type Secret } from '../../../src/contract/index.ts'
import { type Envelope, parseSocketMessage } from './envelope.ts'

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
