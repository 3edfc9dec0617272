// How a Slack app stands: the probe of a running gateway and `parley slack check`, against stand-ins for Slack.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { slackChannel } from '../../../../adapters/slack/index.ts'
import { botScopes, slackCommands } from '../../../../adapters/slack/setup.ts'
import type { Adapter, ChannelDeps, CommandContext } from '../../../../src/contract/index.ts'
import { createWebHmac } from '../../../../src/lib/index.ts'
import type { Fault } from '../../../../src/testing/scripted-server.ts'
import { apiError, type SlackApi, startSlackApi } from '../../../doubles/slack-api.ts'
import { type SocketPeer, startSlackSocket } from '../../../doubles/slack-socket.ts'

const token = 'xoxb-1234-token-of-the-tests'
const appToken = 'xapp-1-token-of-the-tests'
const signing = { SLACK_SIGNING_SECRET: '0123456789abcdef0123456789abcdef' }
const tokenRemedy = 'set SLACK_BOT_TOKEN to the "Bot User OAuth Token" of your app'

let api: SlackApi
let socket: SocketPeer
beforeEach(async () => {
  api = await startSlackApi()
  socket = await startSlackSocket()
})
afterEach(async () => {
  await api.close()
  await socket.close()
})

function settingsOf(env: Record<string, string>): unknown {
  const reading = slackChannel.fromEnvironment({ SLACK_BOT_TOKEN: token, SLACK_API_URL: `${api.origin}/api/`, ...env })
  return reading !== undefined && 'settings' in reading ? reading.settings : expect.unreachable(JSON.stringify(reading))
}

function adapterOf(env: Record<string, string>, publicUrl?: string): Adapter {
  const deps: ChannelDeps = {
    connection: { tenant: 'default', id: 'default', agent: 'demo', domain: 'parley.localhost' },
    fetch,
    now: Date.now,
    hmac: createWebHmac(),
    ...(publicUrl === undefined ? {} : { publicUrl }),
  }
  return slackChannel.create(settingsOf(env), deps)
}

const ask = (adapter: Adapter, ms = 5_000) => adapter.probe?.({ signal: AbortSignal.timeout(ms) })

const granted = (scopes: readonly string[]): Fault => ({
  kind: 'answer',
  status: 200,
  body: JSON.stringify({ ok: true, user: 'parley', user_id: 'U1', team: 'Acme', team_id: 'T1' }),
  headers: { 'x-oauth-scopes': scopes.join(',') },
})
const limited: Fault = { kind: 'answer', status: 429, body: '{}', headers: { 'retry-after': '45' } }

describe('the probe', () => {
  test.each<[string, Fault, object]>([
    [
      'a wrong token',
      apiError('invalid_auth'),
      {
        summary: '',
        problems: [
          {
            state: 'failed',
            reason: 'token_refused',
            problem: 'token refused (invalid_auth)',
            remedy: tokenRemedy,
          },
        ],
      },
    ],
    ['a revoked token', apiError('token_revoked'), { problems: [{ problem: 'token refused (token_revoked)' }] }],
    ['a limit, which says nothing of the app', limited, { problems: [], retryAfterMs: 45_000 }],
    [
      'trouble of Slack’s own',
      apiError('internal_error'),
      { problems: [{ state: 'degraded', reason: 'unreachable' }] },
    ],
    ['all well', granted(botScopes), { summary: '@parley in Acme, events by webhook', problems: [] }],
    [
      'scopes that are missing',
      granted(botScopes.filter((scope) => !scope.startsWith('files:'))),
      { problems: [{ state: 'degraded', problem: 'the bot token lacks files:read, files:write' }] },
    ],
    [
      'a token that may not write',
      granted(botScopes.filter((scope) => scope !== 'chat:write')),
      { problems: [{ state: 'failed', reason: 'scopes_missing' }] },
    ],
  ])('tells %s', async (_name, fault, found) => {
    api.failAlways('auth.test', fault)
    expect(await ask(adapterOf(signing))).toMatchObject(found)
  })

  test('ends with its signal where Slack hangs', async () => {
    api.failAlways('auth.test', { kind: 'hang' })
    expect(await ask(adapterOf(signing), 100)).toMatchObject({ problems: [{ reason: 'unreachable' }] })
  })

  test('the start names the address to paste at Slack, or what is needed for one', () => {
    expect(adapterOf(signing, 'https://bots.example.org').notice).toBe(
      'webhook: https://bots.example.org/hooks/slack/default',
    )
    expect(adapterOf(signing).notice).toContain('SLACK_APP_TOKEN')
    expect(adapterOf({ SLACK_APP_TOKEN: appToken }).notice).toBeUndefined()
  })

  test('Socket Mode needs no signing secret, and then no webhook is believed', async () => {
    const adapter = adapterOf({ SLACK_APP_TOKEN: appToken })
    const headers = {
      'content-type': 'application/json',
      'x-slack-request-timestamp': String(Math.floor(Date.now() / 1000)),
      'x-slack-signature': `v0=${'0'.repeat(64)}`,
    }
    const bytes = new TextEncoder().encode('{"type":"event_callback"}')
    const arrival = { bytes, headers, receivedAt: new Date().toISOString(), from: 'remote' } as const
    const connection = { tenant: 'default', id: 'default', agent: 'demo', domain: 'parley.localhost' }
    expect(await adapter.receive(arrival, connection)).toEqual({ kind: 'rejected', reason: 'bad_signature' })
    expect(slackChannel.fromEnvironment({ SLACK_BOT_TOKEN: token })).toEqual({ missing: ['SLACK_SIGNING_SECRET'] })
  })

  test.each([
    ['connected', undefined, []],
    ['refused', 'invalid_auth', [{ state: 'failed', reason: 'app_token_refused' }]],
  ])('tells that the socket of this process is %s, without asking for another', async (_name, refusal, problems) => {
    socket.refuse = refusal
    const adapter = adapterOf({ SLACK_APP_TOKEN: appToken, SLACK_API_URL: socket.apiUrl })
    const stop = new AbortController()
    const batches = adapter.ingress?.poll?.(undefined, stop.signal)[Symbol.asyncIterator]()
    const pulled = batches?.next().catch(() => undefined)
    await socket.until(() => socket.opened.length > 0)
    const asked = socket.opened.filter((each) => each.includes(appToken)).length
    const found = (await ask(adapter))?.problems.filter(({ reason }) => reason !== 'token_refused')
    expect(found).toMatchObject(problems)
    expect(socket.opened.filter((each) => each.includes(appToken))).toHaveLength(asked)
    stop.abort()
    await pulled
    await batches?.return?.()
  })
})

describe('parley slack check', () => {
  const check = async (env: Record<string, string>, connection = 'default') => {
    const command = slackCommands.commands.find(({ name }) => name === 'check') ?? expect.unreachable('no check')
    const desk: CommandContext = {
      environment: {},
      fetch,
      settings: async (id) => (id === 'default' ? { settings: settingsOf(env), publicUrl: undefined } : undefined),
    }
    return command.run({ connection }, desk)
  }

  test('says who the app is, where, and that its scopes are there', async () => {
    api.failAlways('auth.test', granted(botScopes))
    const { text, problem, value } = await check(signing)
    expect(problem).toBeUndefined()
    expect(text).toMatch(/^Bot +@parley \(U1\)\nWorkspace +Acme\nScopes +all there\nMode +events by webhook$/)
    expect(value).toMatchObject({ state: 'ok', missingScopes: [], problems: [] })
  })

  test('says that a token is refused, with what to set and nothing of the token', async () => {
    api.failAlways('auth.test', apiError('invalid_auth'))
    const result = await check(signing)
    expect(result.problem).toBe(`token refused (invalid_auth); ${tokenRemedy}`)
    expect(JSON.stringify(result)).not.toContain(token)
  })

  test('asks for a socket where Socket Mode is set up', async () => {
    expect(await check({ SLACK_APP_TOKEN: appToken, SLACK_API_URL: socket.apiUrl })).toMatchObject({
      text: expect.stringContaining('Socket Mode, a connection is granted'),
    })
    socket.refuse = 'not_allowed_token_type'
    const { value } = await check({ SLACK_APP_TOKEN: appToken, SLACK_API_URL: socket.apiUrl })
    expect(JSON.stringify(value)).toContain('app-level token refused (not_allowed_token_type)')
  })

  test('names the connection that does not exist', async () => {
    await expect(check(signing, 'other')).rejects.toThrow('there is no connection other')
  })
})
