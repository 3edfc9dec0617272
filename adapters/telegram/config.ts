// Settings of a Telegram bot connection, from parley.config.ts or from the environment.
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

const tokenSchema = secretSchema(
  /^[0-9]{1,20}:[A-Za-z0-9_-]{1,128}$/,
  'must be the token BotFather gave you, digits:letters; set TELEGRAM_BOT_TOKEN',
)
const webhookSecretSchema = secretSchema(
  /^[A-Za-z0-9_-]{32,256}$/,
  'must be 32 to 256 characters of A-Z a-z 0-9 _ -; set TELEGRAM_WEBHOOK_SECRET (openssl rand -hex 32)',
)

const settingsSchema = z.strictObject({
  botToken: tokenSchema,
  /** Who begins: Telegram calls us, or we ask it. Without it: the one that there is a secret for, or the other that needs none. */
  mode: z.enum(['webhook', 'polling'], { error: 'must be webhook or polling; correct TELEGRAM_MODE' }).optional(),
  /** Two during a rotation: the old one and the new one. Of no use to a bot that polls. */
  webhookSecret: secretListSchema(webhookSecretSchema, 2, 'must hold at most two secrets'),
  apiRoot: z
    .url({ protocol: /^https?$/, error: 'must be an http(s) URL; correct TELEGRAM_API_ROOT' })
    .refine((root) => !root.endsWith('/'), 'must not end with a slash; remove it from TELEGRAM_API_ROOT')
    .default('https://api.telegram.org'),
  botUsername: z
    .string()
    .regex(/^@?[A-Za-z0-9_]{3,32}$/, 'must be the bot’s user name, such as my_bot; correct TELEGRAM_BOT_USERNAME')
    .transform((name) => name.replace(/^@/, ''))
    .optional(),
  /**
   * How a reply is shown while it grows. A message that is edited can be finished again when an answer was lost; a draft, for
   * private chats only, is smoother and tells people once, but what finishes it is a send that cannot be repeated.
   */
  streaming: z
    .enum(['edit', 'draft', 'off'], { error: 'must be edit, draft or off; correct TELEGRAM_STREAMING' })
    .default('edit'),
  /** Which replies go out as rich messages. Apps older than them cannot show one; a server that takes none is remembered. */
  richMessages: z
    .enum(['off', 'tables', 'all'], { error: 'must be off, tables or all; correct TELEGRAM_RICH_MESSAGES' })
    .default('tables'),
  /** 👀 on a message that waits behind another, until it is taken up. */
  receipts: z.boolean('must be true or false').default(true),
  /** How long one call may take; `turns.leaseMs`, and so a take-over after a crash, is at least three times as long. */
  callTimeoutMs: z.int().min(500).max(30_000).default(9000),
  /** How much is said in one group before Telegram would refuse more. */
  groupMessagesPerMinute: z.int().min(1).max(1000).default(20),
  /** What Telegram is known to tolerate; only its own retry_after is authoritative. */
  limits: limitsSchema.default({
    connection: { count: 30, perMs: 1000 },
    conversation: { count: 1, perMs: 1000 },
  }),
})

export const telegramSettingsSchema = settingsSchema
  .refine(({ mode, webhookSecret }) => mode !== 'webhook' || webhookSecret.length > 0, {
    path: ['webhookSecret'],
    error: 'must hold one secret; set TELEGRAM_WEBHOOK_SECRET, or TELEGRAM_MODE=polling',
  })
  .transform(({ mode, ...rest }) => ({
    ...rest,
    mode: mode ?? (rest.webhookSecret.length > 0 ? ('webhook' as const) : ('polling' as const)),
  }))

/** Checked settings of one bot. */
export type TelegramSettings = z.output<typeof telegramSettingsSchema>

/** Where Telegram delivers. */
export function telegramWebhookUrl(publicUrl: string, id: string): string {
  return `${publicUrl.replace(/\/+$/, '')}/hooks/telegram/${encodeURIComponent(id)}`
}

/** The bot's own user id is the part of its token before the colon. */
export function botIdFromToken(settings: TelegramSettings): string {
  return settings.botToken.reveal().split(':')[0] ?? ''
}

export function telegramFromEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): EnvironmentReading | undefined {
  const token = env['TELEGRAM_BOT_TOKEN'] || undefined
  const webhookSecrets = env['TELEGRAM_WEBHOOK_SECRET'] || undefined
  const mode = env['TELEGRAM_MODE'] || undefined
  if (token === undefined && webhookSecrets === undefined) return undefined
  if (token === undefined) return { missing: ['TELEGRAM_BOT_TOKEN'] }
  if (webhookSecrets === undefined && mode === 'webhook') return { missing: ['TELEGRAM_WEBHOOK_SECRET'] }
  const streaming = env['TELEGRAM_STREAMING'] || undefined
  const richMessages = env['TELEGRAM_RICH_MESSAGES'] || undefined
  const access = parseAccessList(env['TELEGRAM_ALLOW'])
  return {
    settings: {
      botToken: secret(token),
      ...(mode === undefined ? {} : { mode }),
      ...(streaming === undefined ? {} : { streaming }),
      ...(richMessages === undefined ? {} : { richMessages }),
      webhookSecret: (webhookSecrets ?? '')
        .split(',')
        .flatMap((text) => (text.trim() === '' ? [] : secret(text.trim()))),
      ...(env['TELEGRAM_API_ROOT'] ? { apiRoot: env['TELEGRAM_API_ROOT'] } : {}),
      ...(env['TELEGRAM_BOT_USERNAME'] ? { botUsername: env['TELEGRAM_BOT_USERNAME'] } : {}),
    },
    ...(access === undefined ? {} : { access }),
    // Checked with the connection it is for.
    ...(env['TELEGRAM_REPLY_POLICY'] ? { replyPolicy: { mode: env['TELEGRAM_REPLY_POLICY'] as ReplyMode } } : {}),
  }
}

function parseAccessList(list: string | undefined): AccessRule | undefined {
  const entries = splitCommaList(list)
  if (entries.length === 0) return undefined
  if (entries.includes('*')) return { mode: 'public', allow: [] }
  return { mode: 'allow_list', allow: entries.map((id) => `telegram:${id}`) }
}
