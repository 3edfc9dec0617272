// `parley telegram …`: sets the webhook of this bot, and checks its health at Telegram.

import { type Api, GrammyError } from 'grammy/web'
import {
  type ChannelCommand,
  type ChannelCommands,
  type CommandContext,
  type CommandFlags,
  type CommandResult,
  type ProbeProblem,
  type ProbeRequest,
  type ProbeResult,
  probeReport,
} from '../../src/contract/index.ts'
import { GatewayError, randomHex } from '../../src/lib/index.ts'
import { type TelegramSettings, telegramSettingsSchema, telegramWebhookUrl } from './config.ts'
import { createBotApi, redactBotToken, toClientSignal } from './deliver/bot-api.ts'
import { allowedUpdates } from './wire/update.ts'

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
  async run(flags, context) {
    const id = textFlag(flags, 'connection') ?? 'default'
    const made = isWebhookSecretMissing(flags, context) ? newWebhookSecret() : undefined
    const bench = await openBotSession(
      context,
      id,
      made === undefined ? flagsToVariables(flags) : { [secretName]: made },
    )
    await callBotApiOrThrowConflict(bench, 'getMe', () => bench.api.getMe())
    const url =
      bench.settings.mode === 'polling' ? undefined : requireWebhookUrl(textFlag(flags, 'url') ?? bench.publicUrl, id)
    await setOrDeleteWebhook(bench, url)
    await callBotApiOrThrowConflict(bench, 'setMyCommands', () => bench.api.setMyCommands(commandMenu))
    const report = await checkBot(bench, url)
    const notes = [
      ...(made === undefined ? [] : [`Put this into the gateway's environment and restart it: ${secretName}=${made}`]),
      ...(flags['polling'] === true && context.environment['TELEGRAM_MODE'] !== 'polling'
        ? ['Put this into the gateway’s environment and restart it: TELEGRAM_MODE=polling']
        : []),
    ]
    return appendNotes(report, notes)
  },
}

const check: ChannelCommand = {
  name: 'check',
  description: 'Ask Telegram how the bot stands: who it is, where it delivers, what waits, what failed.',
  examples: ['parley telegram check', 'parley telegram check --json'],
  flags: connectionFlag,
  async run(flags, context) {
    const id = textFlag(flags, 'connection') ?? 'default'
    const bench = await openBotSession(context, id)
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
async function setOrDeleteWebhook(bench: BotSession, url: string | undefined): Promise<void> {
  const { api, settings } = bench
  if (url === undefined) {
    await callBotApiOrThrowConflict(bench, 'deleteWebhook', () => api.deleteWebhook({ drop_pending_updates: false }))
    return
  }
  const [first] = settings.webhookSecret
  const secret_token = first?.reveal() ?? ''
  await callBotApiOrThrowConflict(bench, 'setWebhook', () =>
    api.setWebhook(url, { secret_token, allowed_updates: allowedUpdates }),
  )
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
function isWebhookSecretMissing(flags: CommandFlags, { environment }: CommandContext): boolean {
  const isPolling = flags['polling'] === true || environment['TELEGRAM_MODE'] === 'polling'
  return !isPolling && Boolean(environment['TELEGRAM_BOT_TOKEN']) && !environment[secretName]
}

function flagsToVariables(flags: CommandFlags): Readonly<Record<string, string>> {
  return flags['polling'] === true ? { TELEGRAM_MODE: 'polling' } : {}
}

function newWebhookSecret(): string {
  return randomHex(32)
}

function appendNotes(report: CommandResult, notes: readonly string[]): CommandResult {
  if (notes.length === 0) return report
  const value = { report: report.value, next: [...notes] }
  return { ...report, value, text: [report.text, '', ...notes].join('\n') }
}

function textFlag(flags: CommandFlags, name: string): string | undefined {
  const value = flags[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

// The probe runs at the start, on a schedule and by `parley telegram check`. Nothing secret is part of it.

/** More than this many updates waiting are not being fetched, or not being taken. */
const manyWaiting = 100
const recentSeconds = 3600

type Facts = {
  readonly username: string
  readonly id: number
  readonly readsAll: boolean
  readonly url: string
  readonly waiting: number
  readonly lastError: string | undefined
  readonly isRecent: boolean
  readonly missingUpdates: readonly string[]
}

export type TelegramProbeDeps = Pick<BotSession, 'api' | 'settings'> & {
  /** Where Telegram should deliver. Undefined: it is asked, or the address is not known. */
  readonly expectedUrl: string | undefined
  readonly now: () => number
}

/** What waited when Telegram was asked before, by which a webhook that takes nothing is known. */
type Before = { readonly waiting: number; readonly lastInboundAt: number | undefined }

export function createTelegramProbe(deps: TelegramProbeDeps): (request: ProbeRequest) => Promise<ProbeResult> {
  let before: Before | undefined
  return async ({ signal, lastInboundAt }) => {
    try {
      const facts = await fetchBotAndWebhookInfo(deps, signal)
      const result = botFactsToProbeResult(facts, deps, { before, lastInboundAt })
      before = { waiting: facts.waiting, lastInboundAt }
      return result
    } catch (error) {
      return probeResultOfError(deps.settings, error)
    }
  }
}

async function fetchBotAndWebhookInfo({ api, settings, now }: TelegramProbeDeps, signal: AbortSignal): Promise<Facts> {
  const me = await api.getMe(toClientSignal(signal))
  const hook = await api.getWebhookInfo(toClientSignal(signal))
  const errorAt = hook.last_error_date
  const { last_error_message: failure } = hook
  const shown = failure === undefined ? undefined : redactBotToken(settings, failure)
  const at =
    errorAt === undefined ? '' : `${new Date(errorAt * 1000).toISOString().slice(0, 16).replace('T', ' ')} UTC `
  return {
    username: redactBotToken(settings, me.username),
    id: me.id,
    readsAll: me.can_read_all_group_messages,
    url: redactBotToken(settings, hook.url ?? ''),
    waiting: hook.pending_update_count,
    lastError: shown === undefined ? undefined : `${at}${shown}`,
    isRecent: errorAt !== undefined && now() / 1000 - errorAt < recentSeconds,
    missingUpdates: allowedUpdates.filter((each) => hook.allowed_updates?.includes(each) !== true),
  }
}

function botFactsToProbeResult(
  facts: Facts,
  { settings, expectedUrl }: TelegramProbeDeps,
  seen: { readonly before: Before | undefined; readonly lastInboundAt: number | undefined },
): ProbeResult {
  const problems = settings.mode === 'polling' ? pollingProblems(facts) : webhookProblems(facts, expectedUrl, seen)
  return {
    summary: `@${facts.username}, ${settings.mode}`,
    facts: botProbeFacts(facts, settings),
    problems: [...problems, ...usernameProblems(facts, settings)],
  }
}

function botProbeFacts(facts: Facts, { mode }: TelegramSettings): NonNullable<ProbeResult['facts']> {
  const { username, id, readsAll, url, waiting, lastError } = facts
  return [
    {
      key: 'bot',
      title: 'Bot',
      text: `@${username} (${id})`,
      value: { id, username, readsAllGroupMessages: readsAll },
    },
    { key: 'mode', title: 'Mode', text: mode, value: mode },
    {
      key: 'webhook',
      title: 'Delivery',
      value: url === '' ? null : url,
      text: url === '' ? 'no webhook: Telegram waits to be asked' : url,
    },
    {
      key: 'waiting',
      title: 'Waiting',
      value: waiting,
      text: `${waiting} ${waiting === 1 ? 'update' : 'updates'}`,
    },
    { key: 'lastError', title: 'Last error', text: lastError ?? 'none', value: lastError ?? null },
    {
      key: 'groups',
      title: 'In groups',
      value: readsAll ? 'all' : 'addressed',
      text: readsAll ? 'sees every message' : 'sees commands, replies and mentions (BotFather: /setprivacy)',
    },
  ]
}

function pollingProblems({ url, waiting }: Facts): readonly ProbeProblem[] {
  if (url !== '')
    return [
      failedProbeProblem(
        'webhook_set',
        'a webhook is set and keeps polling out',
        'run: parley telegram connect --polling',
      ),
    ]
  return waiting > manyWaiting
    ? [
        degradedProbeProblem(
          'updates_waiting',
          `${waiting} updates wait at Telegram`,
          'is the gateway up, and does it keep up?',
        ),
      ]
    : []
}

function webhookProblems(
  facts: Facts,
  expectedUrl: string | undefined,
  { before, lastInboundAt }: { readonly before: Before | undefined; readonly lastInboundAt: number | undefined },
): readonly ProbeProblem[] {
  const { url, waiting, missingUpdates, isRecent, lastError } = facts
  const reconnect = 'run: parley telegram connect'
  if (url === '') return [failedProbeProblem('webhook_missing', 'no webhook is set', `${reconnect} --url https://…`)]
  const isStuck =
    before !== undefined && before.waiting > 0 && waiting >= before.waiting && lastInboundAt === before.lastInboundAt
  return [
    ...(expectedUrl !== undefined && url !== expectedUrl
      ? [failedProbeProblem('webhook_elsewhere', `Telegram delivers to ${url} and not to ${expectedUrl}`, reconnect)]
      : []),
    ...(missingUpdates.length > 0
      ? [degradedProbeProblem('updates_kept_back', `Telegram keeps back ${missingUpdates.join(', ')}`, reconnect)]
      : []),
    ...(isRecent
      ? [
          degradedProbeProblem(
            'webhook_failing',
            `Telegram could not deliver within the last hour (${lastError ?? 'it does not say why'})`,
            'check that its address can be reached from outside',
          ),
        ]
      : []),
    ...(isStuck || waiting > manyWaiting
      ? [
          degradedProbeProblem(
            'updates_waiting',
            `${waiting} updates wait at Telegram${isStuck ? ' and nothing came here since the last check' : ''}`,
            'check that the webhook can be reached from outside',
          ),
        ]
      : []),
  ]
}

/** By a wrong name mentions in groups are not recognised. */
function usernameProblems({ username }: Facts, { botUsername }: TelegramSettings): readonly ProbeProblem[] {
  if (botUsername === undefined || botUsername.toLowerCase() === username.toLowerCase()) return []
  const remedy = `set TELEGRAM_BOT_USERNAME=${username}, or leave it out`
  return [degradedProbeProblem('username_wrong', `the bot is not called @${botUsername}`, remedy)]
}

/** Nothing of the client's error is told but what Telegram said: it carries the token. */
function probeResultOfError(settings: TelegramSettings, error: unknown): ProbeResult {
  // What is no answer of Telegram's own form came from something on the way.
  if (!(error instanceof GrammyError) || typeof error.description !== 'string') {
    const remedy = 'check the network and TELEGRAM_API_ROOT'
    return { summary: '', problems: [degradedProbeProblem('unreachable', 'the Bot API does not answer', remedy)] }
  }
  const { error_code: code, description, parameters } = error
  if (code === 429) return { summary: '', problems: [], retryAfterMs: (parameters.retry_after ?? 60) * 1000 }
  const said = redactBotToken(settings, description)
  if (code === 401 || code === 404) {
    const remedy = 'set TELEGRAM_BOT_TOKEN to the token BotFather shows for the bot'
    return { summary: '', problems: [failedProbeProblem('token_refused', `token refused (${code} ${said})`, remedy)] }
  }
  return {
    summary: '',
    problems: [degradedProbeProblem('platform_error', `Telegram says “${said}”`, 'wait, or correct it')],
  }
}

function failedProbeProblem(reason: string, problem: string, remedy: string): ProbeProblem {
  return { state: 'failed', reason, problem, remedy }
}

function degradedProbeProblem(reason: string, problem: string, remedy: string): ProbeProblem {
  return { state: 'degraded', reason, problem, remedy }
}

// Errors of the CLI's calls are told in our words: the client's errors carry the token.

type BotSession = {
  readonly api: Api
  readonly settings: TelegramSettings
  readonly publicUrl: string | undefined
}

async function openBotSession(
  context: CommandContext,
  connection: string,
  instead: Readonly<Record<string, string>> = {},
): Promise<BotSession> {
  const found = await context.settings(connection, instead)
  if (found === undefined) {
    const remedy = 'set TELEGRAM_BOT_TOKEN to the token BotFather gave you, or name it in parley.config.ts'
    throw new GatewayError('config_invalid', `[telegram] there is no connection ${connection}; ${remedy}`)
  }
  const settings = telegramSettingsSchema.parse(found.settings)
  return { api: createBotApi(settings, context), settings, publicUrl: found.publicUrl }
}

async function callBotApiOrThrowConflict<T>(
  { settings }: Pick<BotSession, 'settings'>,
  what: string,
  call: () => Promise<T>,
): Promise<T> {
  try {
    return await call()
  } catch (error) {
    throw new GatewayError('conflict', `[telegram] ${what} failed: ${describeApiError(settings, error)}`)
  }
}

function describeApiError(settings: TelegramSettings, error: unknown): string {
  if (!(error instanceof GrammyError)) return 'the Bot API cannot be reached; check the network and TELEGRAM_API_ROOT'
  if (error.error_code === 401 || error.error_code === 404) return 'the token is not valid; set TELEGRAM_BOT_TOKEN anew'
  return `Telegram says “${redactBotToken(settings, error.description)}”; correct it and try again`
}
