// Installing into workspaces: the browser's way there and back, and everything that must not become an installation.

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createInstallHandler } from '../../../../../adapters/slack/oauth/installations.ts'
import type { TtlStore } from '../../../../../src/contract/index.ts'
import { secret } from '../../../../../src/lib/secret.ts'
import type { Fault } from '../../../../../src/testing/scripted-server.ts'
import { type MemoryInstallations, memoryInstallations } from '../../../../doubles/memory-installations.ts'
import { type MemoryNotes, memoryNotes } from '../../../../doubles/memory-ttl-store.ts'
import { slackSay } from '../../../../doubles/say.ts'
import { type SlackOauth, startSlackOauth } from '../../../../doubles/slack-oauth.ts'

const hook = 'https://bots.example.org/hooks/slack/default'
const redirectUrl = `${hook}/oauth_redirect`

let slack: SlackOauth
let installations: MemoryInstallations
let notes: MemoryNotes
let now: number

beforeEach(async () => {
  slack = await startSlackOauth()
  installations = memoryInstallations()
  now = Date.parse('2026-01-02T03:04:05Z')
  notes = memoryNotes(() => now)
})

afterEach(async () => {
  expect(slack.unexpected).toEqual([])
  await slack.close()
})

const settings = () => ({
  clientId: '11.22',
  clientSecret: secret('secret-of-the-client'),
  redirectUrl,
  apiUrl: slack.apiUrl,
})
const serve = (at: TtlStore = notes) =>
  createInstallHandler(settings(), { fetch, now: () => now, installations, ttlStore: at, say: slackSay })

type Begun = { readonly state: string; readonly cookie: string; readonly location: URL; readonly setCookie: string }

async function begin(app: ReturnType<typeof serve>): Promise<Begun> {
  const response = await app(new Request(`${hook}/install`))
  expect(response?.status).toBe(302)
  const location = new URL(response?.headers.get('location') ?? '')
  const setCookie = response?.headers.get('set-cookie') ?? ''
  const state = location.searchParams.get('state') ?? ''
  return { state, cookie: setCookie.split(';')[0] ?? '', location, setCookie }
}

async function comeBack(app: ReturnType<typeof serve>, query: Record<string, string>, cookie = '') {
  const url = `${redirectUrl}?${new URLSearchParams(query)}`
  const response = await app(new Request(url, cookie === '' ? {} : { headers: { cookie } }))
  return { status: response?.status, html: (await response?.text()) ?? '', headers: response?.headers }
}

describe('the way to Slack', () => {
  test('asks for our scopes, names the way back, and is bound to this browser', async () => {
    const { location, setCookie, state } = await begin(serve())
    expect(`${location.origin}${location.pathname}`).toBe(new URL('/oauth/v2/authorize', slack.apiUrl).href)
    expect(Object.fromEntries(location.searchParams)).toEqual({
      client_id: '11.22',
      scope: expect.stringMatching(/^app_mentions:read,.*users:read$/),
      redirect_uri: redirectUrl,
      state: expect.stringMatching(/^[0-9a-f]{32}$/),
    })
    expect(setCookie).toMatch(
      /^__Secure-parley_install=[0-9a-f]{32}; Path=\/hooks\/slack\/default\/oauth_redirect; Max-Age=600; Secure; HttpOnly; SameSite=Lax$/,
    )
    expect(setCookie).not.toContain(state)
  })

  test('is never the same twice', async () => {
    const app = serve()
    const [one, two] = [await begin(app), await begin(app)]
    expect(one.state).not.toBe(two.state)
    expect(one.cookie).not.toBe(two.cookie)
  })

  test('is closed while ten thousand are under way, and open again when they have ended', async () => {
    for (let count = 0; count < 10_000; count += 1)
      await notes.keep({ family: 'install', key: String(count), lifeMs: 600_000 })
    const closed = await serve()(new Request(`${hook}/install`))
    expect([closed?.status, closed?.headers.get('location')]).toEqual([503, null])
    now += 600_000
    await begin(serve())
  })

  test('keeps nothing from which a state could be made', async () => {
    const { state, cookie } = await begin(serve())
    const [key = ''] = notes.keys()
    const kept = JSON.stringify([key, await notes.read('install', key.slice('install/'.length))])
    expect(kept).toMatch(/browser/)
    expect([kept.includes(state), kept.includes(cookie.split('=')[1] ?? '?')]).toEqual([false, false])
  })

  test('leaves every other address and method alone', async () => {
    const app = serve()
    expect(await app(new Request(`${hook}/other`))).toBeUndefined()
    expect(await app(new Request(`${hook}/install`, { method: 'POST' }))).toBeUndefined()
  })
})

describe('the way back', () => {
  test('becomes an installation of that workspace, with its own token and who we are there', async () => {
    const app = serve()
    const { state, cookie } = await begin(app)
    const code = slack.agree({ team: 'T1', enterprise: 'E9' })
    const page = await comeBack(app, { state, code }, `other=1; ${cookie}`)
    expect(page.status).toBe(200)
    expect(page.html).toContain('Workspace &lt;T1&gt;')
    expect(page.headers?.get('content-security-policy')).toMatch(/^default-src 'none'/)
    expect(page.headers?.get('set-cookie')).toMatch(/=; Path=.*Max-Age=0/)
    expect(installations.saved).toEqual([
      {
        account: 'T1',
        status: 'active',
        credentials: { bot_token: 'xoxb-token-1-of-T1' },
        facts: expect.objectContaining({
          app_id: 'A1',
          bot_id: 'B77',
          bot_user_id: 'U77',
          team_id: 'T1',
          enterprise_id: 'E9',
          is_enterprise_install: false,
          installed_by: 'U5',
        }),
      },
    ])
    const [exchange] = slack.calls('oauth.v2.access')
    expect(exchange?.fields).toMatchObject({ code, redirect_uri: redirectUrl, client_id: '11.22' })
    expect(slack.calls('auth.test')).toEqual([{ fields: {}, token: 'Bearer xoxb-token-1-of-T1' }])
  })

  test('of a whole organization is filed under the organization', async () => {
    const app = serve()
    const { state, cookie } = await begin(app)
    await comeBack(app, { state, code: slack.agree({ enterprise: 'E1', isOrgWide: true }) }, cookie)
    expect(installations.saved).toMatchObject([
      { account: 'E1', facts: { is_enterprise_install: true, team_id: null } },
    ])
  })

  test('keeps when a rotating token ends', async () => {
    const app = serve()
    const { state, cookie } = await begin(app)
    await comeBack(app, { state, code: slack.agree({ team: 'T1', expiresIn: 43_200 }) }, cookie)
    expect(installations.saved[0]?.credentials).toEqual({
      bot_token: 'xoxb-token-1-of-T1',
      refresh_token: 'xoxe-1-refresh-1',
      expires_at: '2026-01-02T15:04:05.000Z',
    })
  })
})

describe('nothing is asked of Slack and nothing is kept', () => {
  type Attempt = (begun: Begun, app: ReturnType<typeof serve>) => Promise<readonly [state: string, cookie: string]>
  const late: Attempt = async ({ state, cookie }) => {
    now += 600_000
    return [state, cookie]
  }
  const foreign: Attempt = async () => {
    const { state, cookie } = await begin(serve(memoryNotes(() => now)))
    return [state, cookie]
  }
  const refusals: readonly (readonly [string, Attempt])[] = [
    ['without a state', async ({ cookie }) => ['', cookie]],
    ['with a state nobody gave', async ({ cookie }) => ['0'.repeat(32), cookie]],
    ['from another browser', async ({ state }, app) => [state, (await begin(app)).cookie]],
    ['from a browser without the cookie', async ({ state }) => [state, '']],
    ['after ten minutes', late],
    ['with the state of another connection', foreign],
  ]

  test.each(refusals)('%s', async (_, attempt) => {
    const app = serve()
    const [state, cookie] = await attempt(await begin(app), app)
    const page = await comeBack(app, { state, code: slack.agree({ team: 'T1' }) }, cookie)
    expect([page.status, page.html.includes('Begin again')]).toEqual([400, true])
    expect([slack.calls('oauth.v2.access'), installations.saved]).toEqual([[], []])
  })

  test('a second time with the same state', async () => {
    const app = serve()
    const { state, cookie } = await begin(app)
    await comeBack(app, { state, code: slack.agree({ team: 'T1' }) }, cookie)
    const again = await comeBack(app, { state, code: slack.agree({ team: 'T2' }) }, cookie)
    expect(again.status).toBe(400)
    expect([slack.calls('oauth.v2.access').length, installations.saved.length]).toEqual([1, 1])
  })

  test('a state that came with the wrong cookie is spent', async () => {
    const app = serve()
    const { state, cookie } = await begin(app)
    await comeBack(app, { state, code: slack.agree({ team: 'T1' }) }, 'x=y')
    expect((await comeBack(app, { state, code: slack.agree({ team: 'T1' }) }, cookie)).status).toBe(400)
  })

  test('when the person says no, whatever words come with it', async () => {
    const app = serve()
    const { state, cookie } = await begin(app)
    const page = await comeBack(
      app,
      { state, error: '<script>access_denied', code: slack.agree({ team: 'T1' }) },
      cookie,
    )
    expect(page.status).toBe(403)
    expect(page.html).toMatch(/Nothing was kept/)
    expect(page.html).not.toMatch(/script|access_denied|at \w+/)
    expect([slack.calls('oauth.v2.access'), installations.saved]).toEqual([[], []])
  })
})

const faults: readonly (readonly [string, string, Fault, number])[] = [
  ['a code that was used', 'oauth.v2.access', answering(200, '{"ok":false,"error":"invalid_code"}'), 400],
  ['a server that fails', 'oauth.v2.access', answering(503, ''), 502],
  ['a line that breaks', 'auth.test', { kind: 'drop', when: 'before' }, 502],
  ['a redirect', 'oauth.v2.access', { ...answering(302, ''), headers: { location: 'http://127.0.0.1:9/' } }, 502],
  ['words that are no JSON', 'oauth.v2.access', answering(200, '<html>'), 502],
  ['an answer without a token', 'oauth.v2.access', answering(200, '{"ok":true}'), 502],
]

function answering(status: number, body: string) {
  return { kind: 'answer', status, body } as const
}

test.each(faults)('%s leaves no installation and no secret on the page', async (_, method, fault, status) => {
  const app = serve()
  const { state, cookie } = await begin(app)
  slack.failNext(method, fault)
  const page = await comeBack(app, { state, code: slack.agree({ team: 'T1' }) }, cookie)
  expect(page.status).toBe(status)
  expect(page.html).not.toMatch(/xox|secret-of|code-/)
  expect(installations.saved).toEqual([])
})
