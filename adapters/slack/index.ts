// The Slack channel: what it can do, and its verbs bound to one app's settings.
import {
  type Adapter,
  type Capabilities,
  type ChannelDeps,
  type ConnectionConfig,
  type ConnectionOptions,
  connectionConfig,
  defineAdapter,
  defineChannel,
  parseSettings,
  type RawRequest,
  type SpeakingDeps,
  type TtlStore,
  UnparsableEventError,
} from '../../src/contract/index.ts'
import { misfit, readByWireRule } from '../../src/lib/index.ts'
import { createBotUserLookup, createSenderNameLookup } from './bot-identity.ts'
import { allowedResponseOrigins, type SlackSettings, slackFromEnvironment, slackSettingsSchema } from './config.ts'
import { deliverSlack } from './deliver/deliver.ts'
import { reconcileSlack } from './deliver/reconcile.ts'
import { storeResponseUrl } from './deliver/response-url.ts'
import { createLiveState, createWebApiCaller } from './deliver/web-api.ts'
import { createSlackFileOpener } from './files.ts'
import { createSlackLiveVerbs } from './live.ts'
import type { AppFacts } from './normalize/context.ts'
import { normalizeSlack } from './normalize/normalize.ts'
import { createInstallationAccess } from './oauth/installations.ts'
import { createSlackPresence } from './presence.ts'
import { appendLineToSlackCall, renderSlack } from './render/reply.ts'
import { slackSentences } from './sentences.ts'
import { createSlackProbe, slackWebhookUrl } from './setup.ts'
import { createSocketRequestRegistry, createSocketStateTracker, pollSocketMode } from './socket-mode.ts'
import { countBotHopAndCheckLimit, storeOrReadThreadContext, type Viewed } from './thread-state.ts'
import { readSlackBody, type SlackPayload, screenSlackHeaders, verifySlack } from './verify.ts'
import { envelopeRule, maxTextLength, type SlackCall } from './wire.ts'

// Slack tries an event again within the hour, and delayed ones for a day; the hour more is for clocks.
const horizonMs = 25 * 60 * 60 * 1000
/** It counts from five minutes before its time to five after it; the minute more is for clocks. */
const signatureLifeMs = 11 * 60_000

export const slackChannel = /* @__PURE__ */ defineChannel({
  channel: 'slack',
  sentences: slackSentences,
  defaultConnectionId: 'default',
  defaultAccess: { mode: 'pairing', allow: [] },
  // People who were answered in a thread go on in it.
  defaultReplyMode: 'thread',
  settingsSchema: slackSettingsSchema,
  variables: [
    'SLACK_BOT_TOKEN',
    'SLACK_SIGNING_SECRET',
    'SLACK_APP_TOKEN',
    'SLACK_CLIENT_ID',
    'SLACK_CLIENT_SECRET',
    'SLACK_REDIRECT_URL',
    'SLACK_ALLOW',
    'SLACK_REPLY_POLICY',
    'SLACK_API_URL',
  ],
  fromEnvironment: slackFromEnvironment,
  create: (settings, deps) => createSlack(parseSettings('slack', slackSettingsSchema, settings), deps),
})

/** What an operator writes into parley.config.ts for one app. */
export type SlackOptions = ConnectionOptions<typeof slackSettingsSchema>

export function slack(options: SlackOptions): ConnectionConfig {
  return connectionConfig('slack', options)
}

type SlackValue = Readonly<Record<string, unknown>>

/** What was verified, and who the bot is where the event itself does not say it. */
type VerifiedPayload = {
  readonly payload: SlackPayload
  readonly botUserId: string | undefined
  readonly viewed?: Viewed | undefined
  readonly isBeyondHops?: boolean
  readonly response?: string | undefined
  /** The signature it came with; undefined where it came over a socket of our own. */
  readonly signature?: string | undefined
}

function createSlack(settings: SlackSettings, deps: SpeakingDeps<typeof slackSentences>): Adapter {
  const { appToken } = settings
  const call = createWebApiCaller(settings, deps)
  const accounts = createInstallationAccess(settings, deps)
  const own = createSocketRequestRegistry()
  const socket = createSocketStateTracker()
  const ports = {
    call,
    tokenOf: accounts.tokenOf,
    tokenFailed: accounts.tokenFailed,
    live: createLiveState(deps.ttlStore),
  }
  const names = new Map(Object.entries(settings.names).map(([name, id]) => [name.toLowerCase(), id]))
  const app = appFactsFromSettings(settings)
  const origins = allowedResponseOrigins(settings)
  const facts = { say: deps.say, names, sendsFiles: deps.files !== undefined, broadcasts: new Set(settings.broadcasts) }
  const learn = createBotUserLookup(ports, deps.now)
  const nameOf = createSenderNameLookup(ports, deps.now)
  return defineAdapter<VerifiedPayload, SlackCall>({
    channel: 'slack',
    capabilities: slackCapabilities(settings),
    ...(settings.appToken === undefined ? { notice: webhookNotice(deps) } : {}),
    screenHeaders: (head) => screenSlackHeaders(deps.now, head),
    async verify(rawRequest) {
      // What came over the socket that our own token opened needs no signature.
      const isOwn = appToken !== undefined && own.has(rawRequest)
      const result = isOwn
        ? ({ kind: 'genuine', payload: readSlackBody(rawRequest.bytes) } as const)
        : await verifySlack(deps, settings.signingSecret, rawRequest)
      if (result.kind !== 'genuine') return result
      const { payload } = result
      const signature = isOwn ? undefined : rawRequest.headers['x-slack-signature']
      if (payload.kind !== 'read') return { kind: 'genuine', payload: { payload, signature, botUserId: undefined } }
      await accounts.note?.(app, payload.value)
      const known = await storeAndReadEventContext(deps.ttlStore, app, origins, payload.value)
      const account = settings.botUserId === undefined ? accountNeedingBotLookup(payload.value) : undefined
      const botUserId = account === undefined ? undefined : await learn(account)
      return { kind: 'genuine', payload: { payload, signature, botUserId, ...known } }
    },
    payloadOf: (rawRequest: RawRequest) => ({ payload: readSlackBody(rawRequest.bytes), botUserId: undefined }),
    normalize({ payload, botUserId, signature, ...told }, rawRequest, connection) {
      // A signature brings in one request, whatever became of it: an eavesdropper cannot use it again while it is fresh. Slack
      // signs its own retries anew, or repeats what was never stored.
      const key = `slack:${connection.id}:${signature}`
      const once = signature === undefined ? {} : { once: [{ key, forMs: signatureLifeMs }] }
      if (payload.kind === 'unreadable') throw new UnparsableEventError(payload.reason, once)
      const known = botUserId === undefined ? app : { ...app, botUserId }
      try {
        return [{ ...normalizeSlack({ app: known, rawRequest, connection, ...told }, payload.value), ...once }]
      } catch (error) {
        throw error instanceof UnparsableEventError
          ? new UnparsableEventError(error.reason, { ...error.facts, ...once })
          : error
      }
    },
    // A body would be shown to the person who gave a command.
    acknowledge: () => ({ status: 200 }),
    render: (reply, to, mayNotify, hasLive) => renderSlack(facts, reply, to, { mayNotify, hasLive }),
    deliver: deliverSlack(settings, deps, ports),
    limitedBy: ({ account, payload }) => `${account}/${'channel' in payload ? payload.channel : payload.channel_id}`,
    // Calls were made by this adapter's own render and stored as JSON.
    reconcile: (posted, attempt) => reconcileSlack(ports)(posted as SlackCall, attempt),
    live: createSlackLiveVerbs(ports, deps.now),
    withLine: appendLineToSlackCall,
    presence: { shows: ['waiting', 'seen', 'ended', 'opened'], show: createSlackPresence(settings, ports, deps) },
    openFile: createSlackFileOpener(settings, deps, ports),
    senderName: async ({ channel }, { account }, signal) => {
      if (typeof account !== 'string' || typeof channel?.sender_id !== 'string') return undefined
      return nameOf(account, channel.sender_id, signal)
    },
    probe: createSlackProbe({ settings, call, socket, ...createInstallationCounter(deps) }),
    ingress: {
      poll:
        appToken === undefined ? undefined : pollSocketMode({ ...settings, appToken }, { ...deps, own, watch: socket }),
    },
    serve: accounts.serve,
  })
}

/** Slack calls one address for events, interactivity and the slash command. */
function webhookNotice({ publicUrl, connection }: ChannelDeps): string {
  if (publicUrl === undefined)
    return 'set PARLEY_PUBLIC_URL to where Slack reaches it, or SLACK_APP_TOKEN for Socket Mode'
  return `webhook: ${slackWebhookUrl(publicUrl, connection.id)}`
}

function createInstallationCounter({ installations }: ChannelDeps): { readonly installed?: () => Promise<number> } {
  if (installations === undefined) return {}
  return { installed: async () => (await installations.list()).filter(({ status }) => status === 'active').length }
}

function slackCapabilities(settings: SlackSettings): Capabilities {
  return {
    maxTextLength,
    // Every post carries our id as metadata, and can be read back by it.
    idempotentSend: 'lookup',
    callTimeoutMs: settings.callTimeoutMs,
    horizonMs,
    limits: settings.limits,
    maxParts: 10,
    wholeReply: 'file',
    receivedVia: 'slack',
    authMethods: ['slack-signature'],
    mentionRelay: { kind: Object.keys(settings.names).length > 0 ? 'inline' : 'none' },
    coversNames: true,
    isInteractive: true,
    // Slack's own client takes whatever begins with a slash, and sends us the app's command only.
    commandForm: { prefix: `/${settings.slashCommand} `, joint: ' ' },
    tellsInPrivate: true,
    editsPressed: true,
  }
}

function appFactsFromSettings({ botUserId, appId, allowBots, botHops, slashCommand, names }: SlackSettings): AppFacts {
  const relaysNames = Object.keys(names).length > 0
  return { botUserId, appId, allowBots: new Set(allowBots), botHops, slashCommand, relaysNames }
}

/** What was kept of earlier events and this one does not say. */
async function storeAndReadEventContext(
  notes: TtlStore | undefined,
  app: AppFacts,
  origins: readonly string[],
  value: SlackValue,
): Promise<Pick<VerifiedPayload, 'viewed' | 'response' | 'isBeyondHops'>> {
  const { event, response_url: url } = value
  const isOfThread = typeof event === 'object' && event !== null && 'assistant_thread' in event
  return {
    viewed: isOfThread ? await storeOrReadThreadContext(notes, app, value) : undefined,
    response: typeof url === 'string' ? await storeResponseUrl(notes, origins, url) : undefined,
    isBeyondHops: app.allowBots.size > 0 && (await countBotHopAndCheckLimit(notes, app, value)),
  }
}

/** Undefined: the event says who the bot is, as Slack's own do. */
function accountNeedingBotLookup(value: SlackValue): string | undefined {
  const envelope = value['type'] === 'event_callback' ? readByWireRule(envelopeRule, value) : misfit
  if (envelope === misfit) return undefined
  const { authorizations = [], team_id } = envelope
  return authorizations.some(({ is_bot, user_id }) => is_bot === true && user_id !== undefined) ? undefined : team_id
}
