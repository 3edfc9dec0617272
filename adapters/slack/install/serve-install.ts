// Installing the app into a workspace: `install` sends the browser to Slack, `oauth_redirect` takes it back.
import type { ChannelDeps, Installations, TtlStore } from '../../../src/contract/index.ts'
import { exchangeCode, type OauthSettings } from './exchange.ts'
import { createInstallStates, type InstallStates, stateLifeMs } from './install-states.ts'
import { botScopes, installPath, redirectPath } from './manifest.ts'
import { type InstallPage, installPageResponse } from './page.ts'

export type InstallDeps = Pick<ChannelDeps, 'fetch' | 'now'> & {
  readonly installations: Installations
  readonly notes: TtlStore
}

const cookieName = '__Secure-parley_install'

const installPages = {
  denied: {
    status: 403,
    title: 'Not installed',
    words: 'Slack was told not to install the app. Nothing was kept. You can close this window or begin again.',
  },
  expired: {
    status: 400,
    title: 'This install cannot go on',
    words:
      'It was begun in another browser, more than ten minutes ago, or is finished already. Nothing was kept. Begin again.',
  },
  refused: {
    status: 400,
    title: 'Slack refused this install',
    words: 'The code it gave was used before, or the app is set up differently there. Nothing was kept. Begin again.',
  },
  busy: {
    status: 503,
    title: 'Too many installs are under way',
    words: 'Nothing was begun. Wait ten minutes and begin again.',
  },
  failed: {
    status: 502,
    title: 'Slack did not answer',
    words: 'Nothing was kept. Wait a little and begin again.',
  },
} as const satisfies Record<string, InstallPage>

export function serveInstall(
  settings: OauthSettings,
  deps: InstallDeps,
): (request: Request) => Promise<Response | undefined> {
  const states = createInstallStates(deps.notes)
  return async (request) => {
    if (request.method !== 'GET') return undefined
    const url = new URL(request.url)
    const place = url.pathname.split('/').at(-1)
    if (place === installPath) return beginInstall(settings, states)
    if (place !== redirectPath) return undefined
    const page = await finishInstall(settings, deps, states, {
      query: url.searchParams,
      browser: readInstallCookie(request),
    })
    return installPageResponse(page, { 'set-cookie': installCookie(settings, '', 0) })
  }
}

async function beginInstall(settings: OauthSettings, states: InstallStates): Promise<Response> {
  const begun = await states.begin()
  if (begun === undefined) return installPageResponse(installPages.busy)
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
  if (query.has('error')) return installPages.denied
  const code = query.get('code')
  if (!isOurs || code === null || code === '') return installPages.expired
  const exchanged = await exchangeCode(settings, deps, code)
  if (exchanged.kind !== 'installed') return installPages[exchanged.kind]
  await deps.installations.save(exchanged.installation)
  const where = exchanged.name === '' ? 'your workspace' : exchanged.name
  return { status: 200, title: 'Installed', words: `The app is now in ${where}. You can close this window.` }
}

function installCookie({ redirectUrl }: OauthSettings, value: string, lifeMs: number): string {
  const path = new URL(redirectUrl).pathname
  return `${cookieName}=${value}; Path=${path}; Max-Age=${lifeMs / 1000}; Secure; HttpOnly; SameSite=Lax`
}

function readInstallCookie(request: Request): string {
  const pairs = (request.headers.get('cookie') ?? '').split(';').map((pair) => pair.trim().split('='))
  return pairs.find(([name]) => name === cookieName)?.[1] ?? ''
}
