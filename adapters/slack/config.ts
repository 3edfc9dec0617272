// Settings of a Slack app connection, from parley.config.ts or from the environment.
import * as z from 'zod'
import {
  type AccessRule,
  type EnvironmentReading,
  limitsSchema,
  type ReplyMode,
  secretListSchema,
  secretSchema,
} from '../../src/contract/index.ts'
import { secret, splitCommaList } from '../../src/lib/index.ts'

const signingSecretSchema = secretSchema(
  /^[\x21-\x2b\x2d-\x7e]{16,256}$/,
  'must be the Signing Secret of the app’s Basic Information page; set SLACK_SIGNING_SECRET',
)

const originSchema = z
  .url({ protocol: /^https?$/, error: 'must be http(s) origins' })
  .transform((url) => new URL(url).origin)

const slackIdSchema = (what: string) => z.string().regex(/^[A-Z0-9]{2,32}$/, `must be ${what}`)

const botTokenProblem = 'must be the Bot User OAuth Token, xoxb-…; set SLACK_BOT_TOKEN'

/** For an app that many workspaces install; each then has a token of its own. */
const installSchema = z.strictObject({
  clientId: z.string().regex(/^[\w.-]{3,64}$/, 'must be the Client ID of the app; set SLACK_CLIENT_ID'),
  clientSecret: secretSchema(/^[\x21-\x7e]{16,256}$/, 'must be the Client Secret of the app; set SLACK_CLIENT_SECRET'),
  redirectUrl: z.url({
    protocol: /^https$/,
    error: 'must be the https address of oauth_redirect, as registered with the app; set SLACK_REDIRECT_URL',
  }),
})

const emojiSchema = z
  .union([
    z.literal(false),
    z.string().regex(/^:?[a-z0-9_+'-]{1,100}(?:::skin-tone-[2-6])?:?$/, 'must be the name of an emoji, such as eyes'),
  ])
  .transform((name) => (name === false ? name : name.replace(/^:|:$/g, '')))

// Read twice, by the configuration and by the adapter: what comes out must mean the same going in.
/** Emoji by name; false: none. */
const signsSchema = z.strictObject({
  waiting: emojiSchema.default('hourglass_flowing_sand'),
  seen: emojiSchema.default('eyes'),
  busy: emojiSchema.optional(),
  done: emojiSchema.optional(),
  /** Said as “Parley is working on it…”. */
  status: z
    .union([z.literal(false), z.string().trim().min(1).max(50, 'must be at most 50 characters')])
    .default('is working on it…'),
})

const settingsSchema = z.strictObject({
  /** Of the one workspace the app is for. */
  botToken: secretSchema(/^xox[be][a-z0-9.]*-[\w.-]{4,512}$/i, botTokenProblem).optional(),
  /** In place of a bot token. */
  install: installSchema.optional(),
  /** Two during a rotation: the old one and the new one. Of no use with Socket Mode, where nothing is signed. */
  signingSecret: secretListSchema(signingSecretSchema, 4, 'must hold at most four secrets'),
  /** Only for Socket Mode. */
  appToken: secretSchema(/^xapp-[\w-]{4,512}$/, 'must be an app-level token, xapp-…; set SLACK_APP_TOKEN').optional(),
  apiUrl: z
    .url({ protocol: /^https?$/, error: 'must be an http(s) URL; correct SLACK_API_URL' })
    .transform((url) => (url.endsWith('/') ? url : `${url}/`))
    .default('https://slack.com/api/'),
  /** Where files come from and go to; the first completes addresses that name no host. */
  fileOrigins: z.array(originSchema).min(1, 'must name one origin').readonly().default(['https://files.slack.com']),
  /** Slack says both with every event; they are needed only where something stands in for Slack. */
  botUserId: slackIdSchema('the bot’s user id, U… or W…').optional(),
  appId: slackIdSchema('the app’s id, A…').optional(),
  /** Bots that are listened to, by user id, bot id or app id. */
  allowBots: z.array(slackIdSchema('ids of bots, U…, B… or A…')).readonly().default([]),
  /** How many of their messages are answered in a thread before a person must have spoken again. */
  botHops: z.int().min(1, 'must be at least 1').max(50, 'must be at most 50').default(4),
  /** Channels in which an agent's `<!channel>`, `<!here>` and `<!everyone>` notify all members; `*`: all of them. */
  broadcasts: z
    .array(z.union([z.literal('*'), slackIdSchema('ids of channels, C… or G…')]))
    .readonly()
    .default([]),
  /** Names an agent may write, and whom they call: `{ reviewer: 'U123' }`. */
  names: z.record(z.string(), slackIdSchema('a user id, U… or W…')).default({}),
  /** The app's own slash command, of which the first word may be a command of the gateway. */
  slashCommand: z
    .string()
    .regex(/^\/?[a-z0-9_-]{1,31}$/, 'must be a command such as parley')
    .transform((name) => name.replace(/^\//, ''))
    .default('parley'),
  /** What Slack offers to a person who opens the app and has not written yet; without it: the agent's own `starters`. */
  prompts: z
    .array(
      z.strictObject({
        title: z.string().trim().min(1).max(75, 'must be at most 75 characters'),
        message: z.string().trim().min(1).max(2000, 'must be at most 2,000 characters'),
      }),
    )
    .max(4, 'must be at most four')
    .readonly()
    .optional(),
  /** Emoji on a message while it is on its way, and the words of the status line. */
  signs: z
    .custom<false | z.input<typeof signsSchema>>()
    .default({})
    .transform((given) => (given === false ? ({ waiting: false, seen: false, status: false } as const) : given))
    .pipe(signsSchema),
  /** How long one call may take; `turns.leaseMs`, and so a take-over after a crash, is at least three times as long. */
  callTimeoutMs: z.int().min(500).max(30_000).default(9000),
  /** About one message a second per channel, a few at once (Slack's own Retry-After wins). */
  limits: limitsSchema.default({ conversation: { count: 4, perMs: 4000 } }),
})

export const slackSettingsSchema = settingsSchema
  .refine(({ botToken, install }) => (botToken === undefined) !== (install === undefined), {
    path: ['botToken'],
    error: `${botTokenProblem}; or SLACK_CLIENT_ID and SLACK_CLIENT_SECRET, but not both`,
  })
  .refine(({ signingSecret, appToken }) => signingSecret.length > 0 || appToken !== undefined, {
    path: ['signingSecret'],
    error: 'must hold one secret; set SLACK_SIGNING_SECRET, or SLACK_APP_TOKEN for Socket Mode',
  })

/** Checked settings of one app. */
export type SlackSettings = z.output<typeof slackSettingsSchema>

/** Origins that may see bytes of files: the named ones, and the API's own where the operator moved it. */
export function allowedFileOrigins({ fileOrigins, apiUrl }: SlackSettings): readonly string[] {
  const { origin } = new URL(apiUrl)
  return origin === 'https://slack.com' ? fileOrigins : [...fileOrigins, origin]
}

/** Where a `response_url` may lead: Slack's own host, and the API's where the operator moved it. */
export function allowedResponseOrigins({ apiUrl }: Pick<SlackSettings, 'apiUrl'>): readonly string[] {
  const { origin } = new URL(apiUrl)
  return origin === 'https://slack.com' ? ['https://hooks.slack.com'] : ['https://hooks.slack.com', origin]
}

export function slackFromEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): EnvironmentReading | undefined {
  const token = env['SLACK_BOT_TOKEN'] || undefined
  const signingSecrets = env['SLACK_SIGNING_SECRET'] || undefined
  const appToken = env['SLACK_APP_TOKEN'] || undefined
  if (token === undefined && signingSecrets === undefined && appToken === undefined) return undefined
  const install = oauthSettingsFromEnvironment(env)
  const missing = [
    ...(token === undefined && install === undefined ? ['SLACK_BOT_TOKEN'] : []),
    ...(signingSecrets === undefined && appToken === undefined ? ['SLACK_SIGNING_SECRET'] : []),
  ]
  if (missing.length > 0) return { missing }
  const access = parseAccessList(env['SLACK_ALLOW'])
  return {
    settings: {
      ...(token === undefined ? { install } : { botToken: secret(token) }),
      ...(signingSecrets === undefined
        ? {}
        : { signingSecret: signingSecrets.split(',').map((text) => secret(text.trim())) }),
      ...(appToken === undefined ? {} : { appToken: secret(appToken) }),
      ...(env['SLACK_API_URL'] ? { apiUrl: env['SLACK_API_URL'] } : {}),
    },
    ...(access === undefined ? {} : { access }),
    // Checked with the connection it is for.
    ...(env['SLACK_REPLY_POLICY'] ? { replyPolicy: { mode: env['SLACK_REPLY_POLICY'] as ReplyMode } } : {}),
  }
}

/** Undefined unless the environment says that workspaces may install the app. */
function oauthSettingsFromEnvironment(env: Readonly<Record<string, string | undefined>>): object | undefined {
  const clientId = env['SLACK_CLIENT_ID'] || undefined
  const clientSecret = env['SLACK_CLIENT_SECRET'] || undefined
  if (clientId === undefined || clientSecret === undefined) return undefined
  const origin = (env['PARLEY_PUBLIC_URL'] ?? '').replace(/\/+$/, '')
  const redirectUrl = env['SLACK_REDIRECT_URL'] || `${origin}/hooks/slack/default/oauth_redirect`
  return { clientId, clientSecret: secret(clientSecret), redirectUrl }
}

/** People as `T123/U456`, all members of a workspace as `T123/*`, all people as `*`. */
function parseAccessList(list: string | undefined): AccessRule | undefined {
  const entries = splitCommaList(list)
  if (entries.length === 0) return undefined
  if (entries.includes('*')) return { mode: 'public', allow: [] }
  const whole = entries.filter((entry) => entry.endsWith('/*'))
  const people = entries.filter((entry) => !entry.endsWith('/*'))
  return {
    mode: 'allow_list',
    allow: people.map((person) => `slack:${person}`),
    ...(whole.length === 0
      ? {}
      : { rules: whole.map((entry) => ({ effect: 'allow', subject_prefix: `slack:${entry.slice(0, -1)}` })) }),
  }
}
