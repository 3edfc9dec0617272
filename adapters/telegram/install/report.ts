// How a bot stands, as Telegram tells it: for people and for programs. Nothing secret is part of it.
import type { CommandResult, Json } from '../../../src/contract/index.ts'
import { shownWords } from '../deliver/credential.ts'
import { allowedUpdates } from '../wire/fields.ts'
import { ask, type Bench } from './bot-api.ts'

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

export async function reportOn(bench: Bench, expectedUrl: string | undefined, now: number): Promise<CommandResult> {
  const facts = await factsOf(bench, now)
  const problems = problemsIn(facts, bench, expectedUrl)
  const mode = bench.settings.mode
  const value: Json = {
    bot: { id: facts.id, username: facts.username, readsAllGroupMessages: facts.readsAll },
    mode,
    webhook: facts.url === '' ? null : facts.url,
    waiting: facts.waiting,
    lastError: facts.lastError ?? null,
    problems: [...problems],
  }
  const lines = [
    `Bot         @${facts.username} (${facts.id})`,
    `Delivery    ${facts.url === '' ? 'no webhook: Telegram waits to be asked' : facts.url}`,
    `Waiting     ${facts.waiting} ${facts.waiting === 1 ? 'update' : 'updates'}`,
    `Last error  ${facts.lastError ?? 'none'}`,
    `In groups   ${facts.readsAll ? 'sees every message' : 'sees commands, replies and mentions (BotFather: /setprivacy)'}`,
    ...problems.map((problem) => `Problem     ${problem}`),
  ]
  const [problem] = problems
  return { value, text: lines.join('\n'), ...(problem === undefined ? {} : { problem }) }
}

async function factsOf(bench: Bench, now: number): Promise<Facts> {
  const { api, settings } = bench
  const me = await ask(bench, 'getMe', () => api.getMe())
  const hook = await ask(bench, 'getWebhookInfo', () => api.getWebhookInfo())
  const errorAt = hook.last_error_date
  const { last_error_message: failure } = hook
  const shown = failure === undefined ? undefined : shownWords(settings, failure)
  const at =
    errorAt === undefined ? '' : `${new Date(errorAt * 1000).toISOString().slice(0, 16).replace('T', ' ')} UTC `
  return {
    username: me.username,
    id: me.id,
    readsAll: me.can_read_all_group_messages,
    url: hook.url ?? '',
    waiting: hook.pending_update_count,
    lastError: shown === undefined ? undefined : `${at}${shown}`,
    isRecent: errorAt !== undefined && now / 1000 - errorAt < recentSeconds,
    missingUpdates: allowedUpdates.filter((each) => hook.allowed_updates?.includes(each) !== true),
  }
}

function problemsIn(facts: Facts, { settings }: Bench, expectedUrl: string | undefined): readonly string[] {
  const { botUsername: told, mode } = settings
  const isWebhook = mode === 'webhook'
  return [
    ...(isWebhook && facts.url === '' ? ['no webhook is set; run: parley telegram connect --url https://…'] : []),
    ...(!isWebhook && facts.url !== '' ? ['a webhook keeps polling out; run: parley telegram connect --polling'] : []),
    ...(isWebhook && facts.url !== '' && expectedUrl !== undefined && facts.url !== expectedUrl
      ? [`Telegram delivers elsewhere than to ${expectedUrl}; run: parley telegram connect`]
      : []),
    ...(isWebhook && facts.url !== '' && facts.missingUpdates.length > 0
      ? [`Telegram keeps back ${facts.missingUpdates.join(', ')}; run: parley telegram connect`]
      : []),
    ...(facts.isRecent ? ['Telegram could not deliver within the last hour; see the last error'] : []),
    ...(facts.waiting > manyWaiting ? [`${facts.waiting} updates wait; is the gateway up and reachable?`] : []),
    ...(told?.toLowerCase() === facts.username.toLowerCase()
      ? []
      : [`mentions in groups are not recognised; set TELEGRAM_BOT_USERNAME=${facts.username}`]),
  ]
}
