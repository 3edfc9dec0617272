// The A2A channel: agents on other servers call ours and can come back to their tasks by id. It answers its own requests.
import {
  type Adapter,
  type Capabilities,
  type ChannelDefinition,
  type ChannelDeps,
  type ConnectionConfig,
  type ConnectionOptions,
  connectionConfig,
  defineAdapter,
  type ProbeRequest,
  type ProbeResult,
  parseSettings,
  probeOwnAddress,
  requirePort,
  wrongAnswerProblem,
} from '../../src/contract/index.ts'
import { createUnpinnedFetch, fetchOwnPublicDocument } from '../../src/lib/index.ts'
import { type A2aSettings, a2aFromEnvironment, a2aSettingsSchema } from './config.ts'
import { appendAnswerToRunLog, deliverPush } from './deliver.ts'
import { normalizeA2a } from './normalize.ts'
import { cardKeysPath, createCardKeys } from './protocol/card-signature.ts'
import type { A2aCall, A2aPayload, PushCall } from './protocol/objects.ts'
import { documentPaths } from './protocol/operations.ts'
import { renderA2a } from './render.ts'
import { a2aSentences } from './sentences.ts'
import { createPublishedCards } from './server/agent-card.ts'
import { createPageTokens } from './server/call.ts'
import { gatewayKeyScheme, gatewayTokens } from './server/security-schemes.ts'
import { createA2aServer, createA2aWebFinger } from './server/serve.ts'
import { verifyA2a } from './verify.ts'

export type { A2aAgentOptions } from './client/options.ts'
export { a2aAgent } from './client/remote-agent.ts'

/** The connection of the environment, and the one whose documents lie below /.well-known. */
const defaultPath = '/a2a'

export const a2aChannel: ChannelDefinition = {
  channel: 'a2a',
  sentences: a2aSentences,
  defaultConnectionId: 'default',
  // Who may call is decided before: by token, by the local socket, or by a connection that the operator left open.
  defaultAccess: { mode: 'public', allow: [] },
  settingsSchema: a2aSettingsSchema,
  variables: [
    'A2A_CHANNEL',
    'A2A_SIGNING_KEY',
    'A2A_PROTOCOL_VERSIONS',
    'A2A_PUSH_ALLOW',
    'A2A_CARDS',
    'A2A_ANONYMOUS',
  ],
  fromEnvironment: a2aFromEnvironment,
  create: (settings, deps) => createA2a(parseSettings('a2a', a2aSettingsSchema, settings), deps),
}

/** Options of one connection in parley.config.ts. */
export type A2aOptions = ConnectionOptions<typeof a2aSettingsSchema>

export function a2a(options: A2aOptions = {}): ConnectionConfig {
  return connectionConfig('a2a', options)
}

/** How long a client's receiver may take, where the gateway's leases leave that much. */
const pushTimeoutMs = 10_000

function createA2a(settings: A2aSettings, deps: ChannelDeps): Adapter {
  const { connection, now, files, publicUrl, ownKeys, isLocalOnly = false } = deps
  const runLog = requirePort('a2a', deps.runLog, 'the run log; pass deps.runLog')
  const callers = requirePort('a2a', deps.callers, 'the caller verifier; pass deps.callers')
  const tasks = requirePort('a2a', deps.tasks, 'the task service; pass deps.tasks')
  const agents = requirePort('a2a', deps.agents, 'the agents; pass deps.agents')
  const newId = requirePort('a2a', deps.newId, 'a source of ids; pass deps.newId')
  const callTimeoutMs = Math.min(pushTimeoutMs, deps.maxCallMs ?? pushTimeoutMs)
  const { apiKeyHeader } = settings
  const schemes = [gatewayTokens, ...(apiKeyHeader === undefined ? [] : [gatewayKeyScheme(apiKeyHeader)])]
  const { signing: key, all: keys } = createCardKeys(settings, ownKeys)
  // Without a public URL: the host of our own addresses.
  const ownOrigin = publicUrl ?? `https://${connection.domain}`
  const pushing = {
    push: tasks.push,
    guardedFetch: requirePort('a2a', deps.guardedFetch, 'a fetch for addresses of others; pass deps.guardedFetch'),
    ownFetch: createUnpinnedFetch(deps.fetch),
    allow: settings.push === false ? [] : settings.push.allow,
    timeoutMs: callTimeoutMs,
    signing: {
      key,
      base: `${ownOrigin}${settings.path}`,
      keysUrl: `${ownOrigin}${cardKeysPath(settings)}`,
      newId,
      now,
    },
  }
  const cards = createPublishedCards({ settings, connection, agents, schemes, key, keys, now })
  // Without a store, only this process knows its page tokens.
  const ownSecret = newId()
  const pageTokenSecret = async (): Promise<string> =>
    (await ownKeys?.keep('pages', async () => newId(), 'plain')) ?? ownSecret
  const pages = createPageTokens(deps.hmac, pageTokenSecret)
  const serve = createA2aServer({
    settings,
    connection,
    callers,
    tasks,
    agents,
    files,
    cards,
    pages,
    newId,
    now,
    publicUrl,
  })
  const roots =
    settings.path === defaultPath ? [documentPaths.card, documentPaths.early, `${documentPaths.addresses}/*`] : []
  const paths = [settings.path, `${settings.path}/*`, ...roots]
  const urls = publicUrl === undefined ? [] : [`${publicUrl}${settings.path}`]
  const hub = { agent: connection.agent, isNamed: false, urls, anonymous: settings.anonymous, keyHeader: apiKeyHeader }
  return defineAdapter<A2aPayload, A2aCall | PushCall>({
    channel: 'a2a',
    capabilities: a2aCapabilities(callTimeoutMs),
    endpoints: paths.map((path) => ({ path, answer: 'serve' })),
    verify: (rawRequest) => verifyA2a(callers, rawRequest, hub),
    normalize: normalizeA2a,
    render: renderA2a,
    deliver: (call, attempt) =>
      'push' in call ? deliverPush(pushing, call, attempt) : appendAnswerToRunLog(runLog, call, attempt),
    serve,
    webfinger: createA2aWebFinger(settings.path === defaultPath ? publicUrl : undefined, agents),
    probe: createA2aProbe(settings, deps.fetch, { url: urls[0], isLocalOnly }),
    isLocalOnly,
  })
}

/** The card as others see it. Where it is for callers alone, they see nothing: then whether the address leads here. */
function createA2aProbe(
  { path, cards }: A2aSettings,
  fetch: typeof globalThis.fetch,
  address: Parameters<typeof probeOwnAddress>[1],
): (request: ProbeRequest) => Promise<ProbeResult> {
  const { url } = address
  return async (request) => {
    if (url === undefined) return probeOwnAddress(request, address)
    if (cards === 'callers') {
      const found = await probeOwnAddress(request, address)
      return { ...found, summary: `${url}, cards for callers with a token` }
    }
    const cardUrl = path === defaultPath ? `${new URL(url).origin}${documentPaths.card}` : `${url}${documentPaths.card}`
    const headers = { accept: 'application/json', 'a2a-version': '1.0' }
    const found = await fetchOwnPublicDocument(fetch, cardUrl, { headers, signal: request.signal })
    const summary = `${url}, public card`
    if (found.kind === 'problem') return { summary, problems: [found.problem] }
    const isOurs = found.kind === 'read' && isUrlAmongInterfaces(found.json['supportedInterfaces'], url)
    return { summary, problems: isOurs ? [] : [wrongAnswerProblem(`${cardUrl} is not the card of this gateway`)] }
  }
}

function isUrlAmongInterfaces(interfaces: unknown, url: string): boolean {
  if (!Array.isArray(interfaces)) return false
  return interfaces.some(
    (each: unknown) => typeof each === 'object' && each !== null && 'url' in each && each.url === url,
  )
}

function a2aCapabilities(callTimeoutMs: number): Capabilities {
  return {
    // One reply is one event of the task's log; there is no platform limit to split for.
    maxTextLength: Number.MAX_SAFE_INTEGER,
    idempotentSend: 'client-id',
    callTimeoutMs,
    horizonMs: 24 * 60 * 60 * 1000,
    limits: {},
    receivedVia: 'a2a',
    authMethods: ['bearer-token', 'a2a-jwt', 'a2a-oauth', 'a2a-local', 'a2a-anonymous'],
    mentionRelay: { kind: 'none' },
    notifiesByName: false,
    appends: true,
  }
}
