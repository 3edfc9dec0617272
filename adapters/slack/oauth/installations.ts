// Installations of the app: one workspace with its token in the settings, or every workspace that installed it over OAuth.
import * as z from 'zod'
import type { Adapter, ChannelDeps, SpeakingDeps, TtlStore } from '../../../src/contract/index.ts'
import {
  equalInConstantTime,
  GatewayError,
  misfit,
  randomHex,
  readByWireRule,
  sha256Hex,
} from '../../../src/lib/index.ts'
import { escapeHtml } from '../../../src/markdown/index.ts'
import type { SlackSettings } from '../config.ts'
import { type OnTokenFailed, type SlackTokenLookup, staticTokenLookup } from '../deliver/web-api.ts'
import { type AppFacts, resolveInstallation } from '../normalize/context.ts'
import type { SlackSay, slackSentences } from '../sentences.ts'
import { botScopes, installPath, redirectPath } from '../setup.ts'
import { envelopeRule, type SlackEnvelope } from '../wire.ts'
import { createInstallationTokens, exchangeCode, type Installations, type OauthSettings } from './tokens.ts'

export type InstallationAccess = {
  readonly tokenOf: SlackTokenLookup
  readonly tokenFailed: OnTokenFailed
  /** Takes note of what a genuine payload says about its installation, before anything else is done with it. */
  readonly note: ((app: AppFacts, payload: unknown) => Promise<void>) | undefined
  readonly serve: Adapter['serve']
}

export function createInstallationAccess(
  settings: SlackSettings,
  deps: SpeakingDeps<typeof slackSentences>,
): InstallationAccess {
  const { botToken, install, apiUrl } = settings
  const { installations, ttlStore } = deps
  if (botToken !== undefined) {
    const tokenOf = staticTokenLookup({ botToken })
    return { tokenOf, tokenFailed: async () => undefined, note: undefined, serve: undefined }
  }
  if (install === undefined || installations === undefined || ttlStore === undefined)
    throw new GatewayError('config_invalid', '[slack] there is no store for installations; set SLACK_BOT_TOKEN instead')
  const oauth = { ...install, apiUrl }
  const ports = { fetch: deps.fetch, now: deps.now, installations, ttlStore, say: deps.say }
  const tokens = createInstallationTokens(oauth, ports)
  return {
    tokenOf: tokens.tokenOf,
    tokenFailed: tokens.tokenFailed,
    note: (app, payload) => endRemovedInstallation(installations, app, payload),
    serve: createInstallHandler(oauth, ports),
  }
}

// The two events that end an installation arrive when its token is dead already, so nothing is asked of Slack.

const ids = z.array(z.string()).catch([])
const removalSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('app_uninstalled') }),
  z.object({ type: z.literal('tokens_revoked'), tokens: z.object({ bot: ids }).catch({ bot: [] }) }),
])

/** Ends what the event says has ended, and only that: a person's token that was revoked leaves the bot's alone. */
export async function endRemovedInstallation(
  installations: Installations,
  app: AppFacts,
  payload: unknown,
): Promise<void> {
  const envelope = readByWireRule(envelopeRule, payload)
  if (envelope === misfit || envelope.type !== 'event_callback') return
  const event = removalSchema.safeParse(envelope.event)
  const account = event.success ? findRemovedAccount(app, envelope) : undefined
  const found = account === undefined ? undefined : await installations.find(account)
  if (!event.success || found === undefined || found.status === 'removed') return
  const { data } = event
  const isOver = data.type === 'app_uninstalled' || data.tokens.bot.includes(String(found.facts['bot_user_id']))
  if (isOver) await installations.end(found.account, 'removed', data.type)
}

/** Undefined where it names no installation: it is kept as unreadable then, and ends nothing. */
function findRemovedAccount(app: AppFacts, envelope: SlackEnvelope): string | undefined {
  try {
    return resolveInstallation(app, envelope).account
  } catch {
    return undefined
  }
}

// The OAuth flow: `install` sends the browser to Slack, `oauth_redirect` takes it back.

export type InstallDeps = Pick<ChannelDeps, 'fetch' | 'now'> & {
  readonly installations: Installations
  readonly ttlStore: TtlStore
  readonly say: SlackSay
}

const cookieName = '__Secure-parley_install'

const installPages = {
  denied: 403,
  expired: 400,
  refused: 400,
  busy: 503,
  failed: 502,
} as const

function installProblemPage(say: SlackSay, problem: keyof typeof installPages): InstallPage {
  const title = say(`slack.install_${problem}`)
  return { status: installPages[problem], title, words: say(`slack.install_${problem}_remedy`) }
}

export function createInstallHandler(
  settings: OauthSettings,
  deps: InstallDeps,
): (request: Request) => Promise<Response | undefined> {
  const states = createInstallStates(deps.ttlStore)
  return async (request) => {
    if (request.method !== 'GET') return undefined
    const url = new URL(request.url)
    const place = url.pathname.split('/').at(-1)
    if (place === installPath) return beginInstall(settings, states, deps.say)
    if (place !== redirectPath) return undefined
    const page = await finishInstall(settings, deps, states, {
      query: url.searchParams,
      browser: readInstallCookie(request),
    })
    return installPageResponse(page, { 'set-cookie': installCookie(settings, '', 0) })
  }
}

async function beginInstall(settings: OauthSettings, states: InstallStates, say: SlackSay): Promise<Response> {
  const begun = await states.begin()
  if (begun === undefined) return installPageResponse(installProblemPage(say, 'busy'))
  const { state, browser } = begun
  const location = authorizeUrl(settings, state)
  const headers = { location, 'set-cookie': installCookie(settings, browser, stateLifeMs), 'cache-control': 'no-store' }
  return new Response(null, { status: 302, headers: { ...headers, 'referrer-policy': 'no-referrer' } })
}

function authorizeUrl({ apiUrl, clientId, redirectUrl }: OauthSettings, state: string): string {
  const url = new URL('/oauth/v2/authorize', apiUrl)
  url.searchParams.set('client_id', clientId)
  url.searchParams.set('scope', botScopes.join(','))
  url.searchParams.set('redirect_uri', redirectUrl)
  url.searchParams.set('state', state)
  return url.href
}

type OauthReturn = { readonly query: URLSearchParams; readonly browser: string }

/** The state is spent whatever comes of it, and before anything is asked of Slack. */
async function finishInstall(
  settings: OauthSettings,
  deps: InstallDeps,
  states: InstallStates,
  { query, browser }: OauthReturn,
): Promise<InstallPage> {
  const isOurs = await states.end(query.get('state') ?? '', browser)
  if (query.has('error')) return installProblemPage(deps.say, 'denied')
  const code = query.get('code')
  if (!isOurs || code === null || code === '') return installProblemPage(deps.say, 'expired')
  const exchanged = await exchangeCode(settings, deps, code)
  if (exchanged.kind !== 'installed') return installProblemPage(deps.say, exchanged.kind)
  await deps.installations.save(exchanged.installation)
  const where = exchanged.name === '' ? deps.say('slack.your_workspace') : exchanged.name
  return { status: 200, title: deps.say('slack.installed'), words: deps.say('slack.installed_in', { where }) }
}

function installCookie({ redirectUrl }: OauthSettings, value: string, lifeMs: number): string {
  const path = new URL(redirectUrl).pathname
  return `${cookieName}=${value}; Path=${path}; Max-Age=${lifeMs / 1000}; Secure; HttpOnly; SameSite=Lax`
}

function readInstallCookie(request: Request): string {
  const pairs = (request.headers.get('cookie') ?? '').split(';').map((pair) => pair.trim().split('='))
  return pairs.find(([name]) => name === cookieName)?.[1] ?? ''
}

// OAuth states: each begun in one browser, ended once, within ten minutes. They are rows, so that an install may begin on one
// replica and end on another; what is stored of a state is its hash, from which no state can be made.

type InstallStates = {
  /** Undefined: too many have begun and not ended. */
  readonly begin: () => Promise<{ readonly state: string; readonly browser: string } | undefined>
  /** True once, for the browser that began it and in time. */
  readonly end: (state: string, browser: string) => Promise<boolean>
}

const stateLifeMs = 10 * 60_000
/** Any visitor may begin one, so there is an end to how many rows that makes. */
const maxStates = 10_000
const family = 'install'

function createInstallStates(ttlStore: TtlStore): InstallStates {
  return {
    async begin() {
      const [state, browser] = [randomHex128(), randomHex128()]
      const value = { browser: await sha256Hex(browser) }
      const note = { family, key: await sha256Hex(state), value, lifeMs: stateLifeMs, atMost: maxStates, isOnce: true }
      return (await ttlStore.keep(note)) ? { state, browser } : undefined
    },
    async end(state, browser) {
      const begun = await ttlStore.take(family, await sha256Hex(state))
      return begun !== undefined && equalInConstantTime(await sha256Hex(browser), String(begun['browser']))
    },
  }
}

/** 128 bits, as text that addresses and cookies carry unchanged. */
function randomHex128(): string {
  return randomHex(16)
}

// Nothing in the pages of an install comes from the request, and a page can load nothing.

const headers = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
}

/** In the page itself, which may load nothing; light or dark as the browser is. */
const installPageStyle = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:18vh auto;padding:0 1.5rem}
h1{font-size:1.5rem;margin:0 0 .5rem}p{margin:0;opacity:.8}`

type InstallPage = { readonly status: number; readonly title: string; readonly words: string }

function installPageResponse(
  { status, title, words }: InstallPage,
  more: Readonly<Record<string, string>> = {},
): Response {
  const html = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title><style>${installPageStyle}</style></head>
<body><h1>${escapeHtml(title)}</h1><p>${escapeHtml(words)}</p></body>
</html>
`
  return new Response(html, { status, headers: { ...headers, ...more } })
}
