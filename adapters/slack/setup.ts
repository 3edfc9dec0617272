// `parley slack …`: the operator's commands to set up the app, its manifest, and its health probe.

import {
  type ChannelCommand,
  type ChannelCommands,
  type CommandFlags,
  type ProbeProblem,
  type ProbeRequest,
  type ProbeResult,
  probeReport,
} from '../../src/contract/index.ts'
import { GatewayError, type Json, type Secret } from '../../src/lib/index.ts'
import { type SlackSettings, slackSettingsSchema } from './config.ts'
import { type CallWebApi, createWebApiCaller, type WebApiAnswer } from './deliver/web-api.ts'
import type { SocketWatch } from './socket-mode.ts'

const checkMs = 20_000

const manifestCommand: ChannelCommand = {
  name: 'manifest',
  description: 'Print an app manifest to paste at api.slack.com/apps, "Create New App", "From a manifest".',
  examples: [
    'parley slack manifest --url https://bots.example.org',
    'parley slack manifest --socket',
    'parley slack manifest --socket --command /helpdesk --name Helpdesk > manifest.json',
  ],
  flags: {
    url: { type: 'string', description: 'Where Slack reaches the gateway', valueHint: 'https://…' },
    socket: { type: 'boolean', description: 'Events come over Socket Mode; nothing needs to be reachable' },
    command: { type: 'string', description: 'The slash command', valueHint: '/word', default: '/parley' },
    name: { type: 'string', description: 'What people see', valueHint: 'name', default: 'Parley' },
    connection: { type: 'string', description: 'Id of the connection', valueHint: 'id', default: 'default' },
    org: { type: 'boolean', description: 'May be installed into a whole Enterprise organization' },
  },
  async run(flags) {
    const manifest = slackManifest({
      name: textFlag(flags, 'name') ?? 'Parley',
      url: textFlag(flags, 'url'),
      isSocketMode: flags['socket'] === true,
      command: textFlag(flags, 'command') ?? '/parley',
      connection: textFlag(flags, 'connection') ?? 'default',
      isOrgWide: flags['org'] === true,
    })
    // Everything in a manifest is JSON; its readonly lists are only a stricter type of it.
    const value = manifest as unknown as Json
    return { value, text: JSON.stringify(value, null, 2) }
  },
}

const check: ChannelCommand = {
  name: 'check',
  description: 'Ask Slack how the app stands: who it is, what its tokens may do, whether Socket Mode is granted.',
  examples: ['parley slack check', 'parley slack check --json'],
  flags: {
    connection: { type: 'string', description: 'Id of the connection', valueHint: 'id', default: 'default' },
  },
  async run(flags, context) {
    const id = textFlag(flags, 'connection') ?? 'default'
    const found = await context.settings(id)
    if (found === undefined) {
      const remedy = 'set SLACK_BOT_TOKEN to the "Bot User OAuth Token" of your app, or name it in parley.config.ts'
      throw new GatewayError('config_invalid', `[slack] there is no connection ${id}; ${remedy}`)
    }
    const settings = slackSettingsSchema.parse(found.settings)
    const probe = createSlackProbe({ settings, call: createWebApiCaller(settings, context) })
    return probeReport(await probe({ signal: AbortSignal.timeout(checkMs) }))
  },
}

function textFlag(flags: CommandFlags, name: string): string | undefined {
  const value = flags[name]
  return typeof value === 'string' ? value : undefined
}

export const slackCommands = {
  channel: 'slack',
  description: 'Set up the Slack app.',
  commands: [manifestCommand, check],
} satisfies ChannelCommands

// The app manifest has everything Slack must know about our app, so that an operator pastes it once and configures nothing by
// hand.

export type ManifestOptions = {
  readonly name: string
  /** Where Slack reaches the gateway. Not needed with Socket Mode, except for installing into many workspaces. */
  readonly url: string | undefined
  readonly isSocketMode: boolean
  readonly command: string
  readonly connection: string
  readonly isOrgWide: boolean
}

/** What the adapter uses, and nothing more. */
export const botScopes = [
  'app_mentions:read',
  'assistant:write',
  'channels:history',
  'chat:write',
  'commands',
  'files:read',
  'files:write',
  'groups:history',
  'im:history',
  'mpim:history',
  'reactions:write',
  'users:read',
] as const

const botEvents = [
  'agent_session_stopped',
  'app_context_changed',
  'app_home_opened',
  'app_mention',
  'app_uninstalled',
  'message.channels',
  'message.groups',
  'message.im',
  'message.mpim',
  'tokens_revoked',
] as const

/** Below the address of the connection's webhook. */
export const installPath = 'install'
export const redirectPath = 'oauth_redirect'

export function slackManifest(options: ManifestOptions) {
  checkManifestOptions(options)
  const { name, url, isSocketMode, command, isOrgWide } = options
  const hook = url === undefined ? undefined : slackWebhookUrl(url, options.connection)
  // With Socket Mode Slack refuses none of these, and calls none: they are left out so that an operator does not look for them.
  const request = isSocketMode || hook === undefined ? {} : { request_url: hook }
  const asked = isSocketMode || hook === undefined ? {} : { url: hook }
  return {
    display_information: { name, description: 'Talks to the agents of this gateway' },
    features: {
      agent_view: { agent_description: 'Ask it anything; it answers in the thread.' },
      // Without this tab people cannot write to the app directly.
      app_home: { home_tab_enabled: false, messages_tab_enabled: true, messages_tab_read_only_enabled: false },
      bot_user: { display_name: botDisplayName(name), always_online: true },
      slash_commands: [
        // Escaped: names of people and channels arrive as ids and not as words to guess from.
        { command, description: 'Ask the agent', usage_hint: '[question]', should_escape: true, ...asked },
      ],
    },
    oauth_config: {
      ...(hook === undefined ? {} : { redirect_urls: [`${hook}/${redirectPath}`] }),
      scopes: { bot: botScopes },
    },
    settings: {
      event_subscriptions: { ...request, bot_events: botEvents },
      interactivity: { is_enabled: true, ...request },
      org_deploy_enabled: isOrgWide,
      socket_mode_enabled: isSocketMode,
      // Rotation cannot be switched off again, so it is the operator's decision and not ours.
      token_rotation_enabled: false,
    },
  }
}

export function slackWebhookUrl(url: string, connection: string): string {
  return `${url.replace(/\/+$/, '')}/hooks/slack/${connection}`
}

/** Bot names allow only `a-z`, `0-9`, `-`, `_` and `.`. */
function botDisplayName(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
}

function checkManifestOptions({ name, url, isSocketMode, command, connection }: ManifestOptions): void {
  if (name.length > 35 || botDisplayName(name) === '')
    throw manifestError('--name must be at most 35 characters with a letter or a digit of ASCII among them')
  if (!/^\/[a-z0-9_-]{1,31}$/.test(command))
    throw manifestError('--command must be a slash and 1 to 31 of a-z 0-9 - _, such as /ask')
  if (!/^[A-Za-z0-9_-]+$/.test(connection))
    throw manifestError('--connection must be the id of a connection, such as default')
  if (url === undefined && !isSocketMode)
    throw manifestError(
      '--url is missing: say where the gateway is reached, such as https://bots.example.org, or use --socket',
    )
  if (url !== undefined && !isHttpsWithoutQueryOrUser(url))
    throw manifestError('--url must begin with https:// and have no query')
}

function isHttpsWithoutQueryOrUser(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url?.protocol === 'https:' && url.search === '' && url.hash === '' && url.username === ''
}

function manifestError(message: string): GatewayError {
  return new GatewayError('bad_request', message)
}

// The probe asks for bot token, scopes and Socket Mode: at the start, on a schedule and by `parley slack check`.

export type SlackProbeDeps = {
  readonly settings: Pick<SlackSettings, 'botToken' | 'appToken'>
  readonly call: CallWebApi
  /** The socket of this process, where it has one. Without it Slack is asked for one, which is then not used. */
  readonly socket?: SocketWatch
  /** Workspaces that installed the app, where it has no token of its own. */
  readonly installed?: () => Promise<number>
}

const tokenRemedy = 'set SLACK_BOT_TOKEN to the "Bot User OAuth Token" of your app'
const socketRemedy = 'make a token with the scope connections:write under Basic Information and set SLACK_APP_TOKEN'
/** How long a start waits for the socket that is just being opened. */
const socketWaitMs = 3_000

export function createSlackProbe(deps: SlackProbeDeps): (request: ProbeRequest) => Promise<ProbeResult> {
  const { settings } = deps
  return async ({ signal }) => {
    const bot =
      settings.botToken === undefined ? await probeInstallCount(deps) : await probeBot(deps, settings.botToken, signal)
    const way = settings.appToken === undefined ? events : await probeSocket(deps, settings.appToken, signal)
    const parts = [bot, way]
    const waits = parts.flatMap(({ retryAfterMs }) => retryAfterMs ?? [])
    const problems = parts.flatMap((part) => part.problems)
    return {
      summary: bot.summary === '' ? '' : `${bot.summary}, ${way.summary}`,
      facts: parts.flatMap(({ facts = [] }) => facts),
      problems,
      // What another part found out is told all the same.
      ...(waits.length === 0 || problems.length > 0 ? {} : { retryAfterMs: Math.max(...waits) }),
    }
  }
}

const events: ProbeResult = {
  summary: 'events by webhook',
  problems: [],
  facts: [{ key: 'mode', title: 'Mode', text: 'events by webhook', value: 'events' }],
}

async function probeInstallCount({ installed }: SlackProbeDeps): Promise<ProbeResult> {
  const count = await installed?.()
  if (count === undefined) return { summary: 'installed by workspaces', problems: [] }
  const text = `installed into ${count} ${count === 1 ? 'workspace' : 'workspaces'}`
  return { summary: text, problems: [], facts: [{ key: 'workspaces', title: 'Workspaces', text, value: count }] }
}

async function probeBot({ call }: SlackProbeDeps, token: Secret, signal: AbortSignal): Promise<ProbeResult> {
  const answer = await call(token, 'auth.test', {}, signal)
  if (answer.kind !== 'ok') return failedAnswerProbeResult(answer, 'token', tokenRemedy)
  const { user, user_id, team, team_id } = answer.data
  const name = printableAnswerField(user ?? user_id)
  const workspace = printableAnswerField(team ?? team_id)
  const missing = missingScopes(answer.data)
  const facts: NonNullable<ProbeResult['facts']> = [
    {
      key: 'bot',
      title: 'Bot',
      text: `@${name} (${printableAnswerField(user_id)})`,
      value: { user: name, userId: printableAnswerField(user_id) },
    },
    {
      key: 'workspace',
      title: 'Workspace',
      text: workspace,
      value: { name: workspace, id: printableAnswerField(team_id) },
    },
    {
      key: 'missingScopes',
      title: 'Scopes',
      value: missing === undefined ? null : [...missing],
      text: missing === undefined ? 'Slack does not say' : missing.length === 0 ? 'all there' : 'some are missing',
    },
  ]
  return { summary: `@${name} in ${workspace}`, facts, problems: scopeProblems(missing ?? []) }
}

/** Undefined: the answer does not list what the token may do. */
function missingScopes({
  response_metadata: metadata,
}: Readonly<Record<string, unknown>>): readonly string[] | undefined {
  const scopes = typeof metadata === 'object' && metadata !== null && 'scopes' in metadata ? metadata.scopes : undefined
  return Array.isArray(scopes) ? botScopes.filter((scope) => !scopes.includes(scope)) : undefined
}

function scopeProblems(missing: readonly string[]): readonly ProbeProblem[] {
  if (missing.length === 0) return []
  const remedy =
    'add them under OAuth & Permissions, Bot Token Scopes, and reinstall the app (parley slack manifest lists all)'
  // Without this one no answer can be sent.
  const state = missing.includes('chat:write') ? 'failed' : 'degraded'
  return [{ state, reason: 'scopes_missing', problem: `the bot token lacks ${missing.join(', ')}`, remedy }]
}

async function probeSocket({ call, socket }: SlackProbeDeps, token: Secret, signal: AbortSignal): Promise<ProbeResult> {
  const socketModeFact = (text: string) => ({ key: 'mode', title: 'Mode', text, value: 'socket' })
  if (socket === undefined) {
    const answer = await call(token, 'apps.connections.open', {}, signal)
    if (answer.kind === 'ok')
      return { summary: 'Socket Mode', problems: [], facts: [socketModeFact('Socket Mode, a connection is granted')] }
    const refused = failedAnswerProbeResult(answer, 'app-level token', socketRemedy)
    return { ...refused, summary: 'Socket Mode', facts: [socketModeFact('Socket Mode')] }
  }
  await socket.settled(AbortSignal.any([signal, AbortSignal.timeout(socketWaitMs)]))
  const state = socket.state()
  const summary = `Socket Mode${state === 'idle' ? ' by another process' : ''}`
  const problems: readonly ProbeProblem[] =
    state === 'refused'
      ? [probeProblem('failed', 'app_token_refused', 'app-level token refused', socketRemedy)]
      : state === 'connecting'
        ? [
            probeProblem(
              'failed',
              'socket_closed',
              'no connection for Socket Mode',
              'it is tried again; check the network',
            ),
          ]
        : []
  return { summary, problems, facts: [socketModeFact(summary)] }
}

function failedAnswerProbeResult(
  answer: Exclude<WebApiAnswer, { kind: 'ok' }>,
  what: string,
  remedy: string,
): ProbeResult {
  const none = { summary: '', facts: [] }
  if (answer.kind === 'limited') return { ...none, problems: [], retryAfterMs: answer.afterMs }
  if (answer.kind === 'error' && !isTransientSlackError(answer.error)) {
    const reason = what === 'token' ? 'token_refused' : 'app_token_refused'
    return { ...none, problems: [probeProblem('failed', reason, `${what} refused (${answer.error})`, remedy)] }
  }
  const said =
    answer.kind === 'http' ? ` (status ${answer.status})` : answer.kind === 'error' ? ` (${answer.error})` : ''
  const problem = probeProblem(
    'degraded',
    'unreachable',
    `Slack does not answer${said}`,
    'check the network and SLACK_API_URL',
  )
  return { ...none, problems: [problem] }
}

/** Slack's own trouble, which says nothing of us. */
function isTransientSlackError(error: string): boolean {
  return ['fatal_error', 'internal_error', 'service_unavailable', 'request_timeout', 'team_added_to_org'].includes(
    error,
  )
}

function probeProblem(state: ProbeProblem['state'], reason: string, problem: string, remedy: string): ProbeProblem {
  return { state, reason, problem, remedy }
}

/** Slack's words for people: printable and short. */
function printableAnswerField(value: unknown): string {
  return typeof value === 'string' ? value.replace(/[^\x20-\x7e]/g, ' ').slice(0, 80) : 'unknown'
}
