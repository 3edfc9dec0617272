// The app manifest: everything Slack must know about our app, so that an operator pastes it once and configures nothing by hand.
import { GatewayError } from '../../../src/contract/index.ts'

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
  if (url !== undefined && !isPlainHttps(url)) throw manifestError('--url must begin with https:// and have no query')
}

function isPlainHttps(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url?.protocol === 'https:' && url.search === '' && url.hash === '' && url.username === ''
}

function manifestError(message: string): GatewayError {
  return new GatewayError('bad_request', message)
}
