// `parley telegram …`: tells Telegram where this bot is, and asks it how the bot stands.
import {
  type ChannelCommand,
  type ChannelCommands,
  type CommandContext,
  type CommandFlags,
  type CommandResult,
  GatewayError,
  probeReport,
} from '../../../src/contract/index.ts'
import { telegramWebhookUrl } from '../config.ts'
import { allowedUpdates } from '../wire/update.ts'
import { askBotApi, type BotSession, createTelegramProbe, openBotSession } from './probe.ts'

const secretName = 'TELEGRAM_WEBHOOK_SECRET'
const checkMs = 20_000
const allowedPorts: ReadonlySet<string> = new Set(['', '80', '88', '8443'])

/** What people are offered when they type a slash. */
const commandMenu = [
  { command: 'help', description: 'what I can do' },
  { command: 'stop', description: 'stop what I am doing for you' },
  { command: 'status', description: 'what I am doing, and what waits' },
  { command: 'new', description: 'start a fresh session' },
  { command: 'approve', description: 'let me do what I asked you about' },
  { command: 'reject', description: 'keep me from it' },
]

const connectionFlag = {
  connection: { type: 'string', description: 'Id of the connection', valueHint: 'id', default: 'default' },
} as const

const connect: ChannelCommand = {
  name: 'connect',
  description: 'Set webhook, secret and commands of the bot, or switch to polling, and check them.',
  examples: ['parley telegram connect --url https://bots.example.org', 'parley telegram connect --polling'],
  flags: {
    url: {
      type: 'string',
      description: 'Where Telegram reaches the gateway (default: PARLEY_PUBLIC_URL)',
      valueHint: 'https://…',
    },
    polling: { type: 'boolean', description: 'The gateway asks Telegram; nothing needs to be reachable' },
    ...connectionFlag,
  },
  async run(flags, desk) {
    const id = textFlag(flags, 'connection') ?? 'default'
    const made = isMissingSecret(flags, desk) ? newWebhookSecret() : undefined
    const bench = await openBotSession(desk, id, made === undefined ? wantedFlags(flags) : { [secretName]: made })
    await askBotApi(bench, 'getMe', () => bench.api.getMe())
    const url =
      bench.settings.mode === 'polling' ? undefined : requireWebhookUrl(textFlag(flags, 'url') ?? bench.publicUrl, id)
    await registerWebhook(bench, url)
    await askBotApi(bench, 'setMyCommands', () => bench.api.setMyCommands(commandMenu))
    const report = await checkBot(bench, url)
    const notes = [
      ...(made === undefined ? [] : [`Put this into the gateway's environment and restart it: ${secretName}=${made}`]),
      ...(flags['polling'] === true && desk.environment['TELEGRAM_MODE'] !== 'polling'
        ? ['Put this into the gateway’s environment and restart it: TELEGRAM_MODE=polling']
        : []),
    ]
    return withNotes(report, notes)
  },
}

const check: ChannelCommand = {
  name: 'check',
  description: 'Ask Telegram how the bot stands: who it is, where it delivers, what waits, what failed.',
  examples: ['parley telegram check', 'parley telegram check --json'],
  flags: connectionFlag,
  async run(flags, desk) {
    const id = textFlag(flags, 'connection') ?? 'default'
    const bench = await openBotSession(desk, id)
    const isPolling = bench.settings.mode === 'polling' || bench.publicUrl === undefined
    return checkBot(bench, isPolling ? undefined : telegramWebhookUrl(bench.publicUrl, id))
  },
}

export const telegramCommands = {
  channel: 'telegram',
  description: 'Set up the Telegram bot.',
  commands: [connect, check],
} satisfies ChannelCommands

/** The same as the gateway asks at its start. */
async function checkBot({ api, settings }: BotSession, expectedUrl: string | undefined): Promise<CommandResult> {
  const probe = createTelegramProbe({ api, settings, expectedUrl, now: Date.now })
  return probeReport(await probe({ signal: AbortSignal.timeout(checkMs) }))
}

/** Polling forgets the webhook, and with it nothing that waits. */
async function registerWebhook(bench: BotSession, url: string | undefined): Promise<void> {
  const { api, settings } = bench
  if (url === undefined) {
    await askBotApi(bench, 'deleteWebhook', () => api.deleteWebhook({ drop_pending_updates: false }))
    return
  }
  const [first] = settings.webhookSecret
  const secret_token = first?.reveal() ?? ''
  await askBotApi(bench, 'setWebhook', () => api.setWebhook(url, { secret_token, allowed_updates: allowedUpdates }))
}

function requireWebhookUrl(base: string | undefined, id: string): string {
  if (base === undefined)
    throw new GatewayError('bad_request', 'where does Telegram reach the gateway? give --url, or --polling')
  const url = URL.canParse(base) ? new URL(base) : undefined
  if (url === undefined || url.protocol !== 'https:' || !allowedPorts.has(url.port))
    throw new GatewayError('bad_request', 'Telegram delivers to https only, on port 443, 80, 88 or 8443; correct --url')
  return telegramWebhookUrl(`${url.origin}${url.pathname}`, id)
}

/** Only the environment's own bot can be without one: a configuration file does not load without it. */
function isMissingSecret(flags: CommandFlags, { environment }: CommandContext): boolean {
  const isPolling = flags['polling'] === true || environment['TELEGRAM_MODE'] === 'polling'
  return !isPolling && Boolean(environment['TELEGRAM_BOT_TOKEN']) && !environment[secretName]
}

function wantedFlags(flags: CommandFlags): Readonly<Record<string, string>> {
  return flags['polling'] === true ? { TELEGRAM_MODE: 'polling' } : {}
}

function newWebhookSecret(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(32)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function withNotes(report: CommandResult, notes: readonly string[]): CommandResult {
  if (notes.length === 0) return report
  const value = { report: report.value, next: [...notes] }
  return { ...report, value, text: [report.text, '', ...notes].join('\n') }
}

function textFlag(flags: CommandFlags, name: string): string | undefined {
  const value = flags[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}
