// Tokens of installations: refreshed once, kept apart, and gone when Slack says so (S28 to S30).
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { endRemovedInstallation } from '../../../../../adapters/slack/oauth/installations.ts'
import { createInstallationTokens } from '../../../../../adapters/slack/oauth/tokens.ts'
import type { Installation } from '../../../../../src/contract/channel.ts'
import { secret } from '../../../../../src/lib/secret.ts'
import { type MemoryInstallations, memoryInstallations } from '../../../../doubles/memory-installations.ts'
import { type SlackOauth, startSlackOauth } from '../../../../doubles/slack-oauth.ts'

const app = {
  botUserId: undefined,
  appId: undefined,
  allowBots: new Set<string>(),
  botHops: 4,
  slashCommand: 'parley',
  relaysNames: false,
}
const start = Date.parse('2026-01-02T00:00:00Z')
const hour = 3_600_000

let slack: SlackOauth
let now: number

beforeEach(async () => {
  slack = await startSlackOauth()
  now = start
})
afterEach(() => slack.close())

const settings = (clientSecret = 'secret-of-the-client') => ({
  clientId: '11.22',
  clientSecret: secret(clientSecret),
  redirectUrl: 'https://bots.example.org/hooks/slack/default/oauth_redirect',
  apiUrl: slack.apiUrl,
})
const deskOn = (installations: MemoryInstallations, clientSecret?: string) =>
  createInstallationTokens(settings(clientSecret), { fetch, now: () => now, installations })

function installed(
  account: string,
  credentials: Installation['credentials'],
  more: Partial<Installation> = {},
): Installation {
  return { account, credentials, facts: { bot_user_id: `U${account}` }, status: 'active', ...more }
}

/** A refresh token that Slack will take, got the way one gets it. */
async function rotating(account: string, leftMs: number): Promise<Installation> {
  const body = new URLSearchParams({
    client_secret: 'secret-of-the-client',
    code: slack.agree({ team: account, expiresIn: 43_200 }),
  })
  const answer = await fetch(`${slack.apiUrl}oauth.v2.access`, { method: 'POST', body })
  const { access_token, refresh_token } = (await answer.json()) as { access_token: string; refresh_token: string }
  return installed(account, {
    bot_token: access_token,
    refresh_token,
    expires_at: new Date(now + leftMs).toISOString(),
  })
}

const refreshes = () => slack.calls('oauth.v2.access').filter(({ fields }) => fields['grant_type'] === 'refresh_token')
const shown = async (answer: ReturnType<ReturnType<typeof deskOn>['tokenOf']>) => {
  const given = await answer
  return given.kind === 'token' ? given.token.reveal() : given
}

describe('a token', () => {
  test('that never ends is given as it is', async () => {
    const desk = deskOn(
      memoryInstallations(installed('T1', { bot_token: 'xoxb-1' }), installed('T2', { bot_token: 'xoxb-2' })),
    )
    expect([await shown(desk.tokenOf('T1')), await shown(desk.tokenOf('T2'))]).toEqual(['xoxb-1', 'xoxb-2'])
    expect(slack.calls('oauth.v2.access')).toEqual([])
  })

  test('with more than two hours left is not refreshed', async () => {
    const desk = deskOn(memoryInstallations(await rotating('T1', 2 * hour + 1)))
    expect(await shown(desk.tokenOf('T1'))).toBe('xoxb-token-1-of-T1')
    expect(refreshes()).toEqual([])
  })

  test('near its end is refreshed once for all who ask at the same time, and the next one is kept', async () => {
    const installations = memoryInstallations(await rotating('T1', 10 * 60_000))
    const desk = deskOn(installations)
    const answers = await Promise.all(Array.from({ length: 20 }, () => shown(desk.tokenOf('T1'))))
    expect(new Set(answers)).toEqual(new Set(['xoxb-token-2-of-T1']))
    expect(refreshes()).toHaveLength(1)
    expect(installations.saved).toMatchObject([
      {
        account: 'T1',
        credentials: { bot_token: 'xoxb-token-2-of-T1', expires_at: new Date(now + 12 * hour).toISOString() },
      },
    ])
    expect(await shown(desk.tokenOf('T1'))).toBe('xoxb-token-2-of-T1')
    expect(refreshes()).toHaveLength(1)
  })

  test('of one workspace is not refreshed for another', async () => {
    const installations = memoryInstallations(await rotating('T1', 1), await rotating('T2', 1))
    const desk = deskOn(installations)
    const answers = await Promise.all([desk.tokenOf('T1'), desk.tokenOf('T2')].map(shown))
    expect(answers.map((token) => String(token).slice(-2))).toEqual(['T1', 'T2'])
    expect(refreshes()).toHaveLength(2)
  })

  test('that another process refreshed first is taken from the store', async () => {
    const installations = memoryInstallations(await rotating('T1', -1))
    const [ours, theirs] = [deskOn(installations), deskOn(installations)]
    const answers = await Promise.all([ours.tokenOf('T1'), theirs.tokenOf('T1')].map(shown))
    expect(answers).toContain('xoxb-token-2-of-T1')
    expect(installations.ended).toEqual([])
    expect(await shown(ours.tokenOf('T1'))).toBe('xoxb-token-2-of-T1')
  })

  test.each([
    ['still good serves while Slack cannot be asked', 1000, 'xoxb-token-1-of-T1'],
    ['past its end is asked for again later', -1, { kind: 'retry', reason: 'token_not_refreshed' }],
  ])('%s', async (_, leftMs, expected) => {
    const desk = deskOn(memoryInstallations(await rotating('T1', leftMs)))
    slack.failNext('oauth.v2.access', { kind: 'answer', status: 500, body: '' })
    expect(await shown(desk.tokenOf('T1'))).toEqual(expected)
  })

  test('past its end whose refresh is refused breaks this installation and no other', async () => {
    const dead = installed('T1', {
      bot_token: 'x',
      refresh_token: 'used',
      expires_at: new Date(now - hour).toISOString(),
    })
    const installations = memoryInstallations(dead, installed('T2', { bot_token: 'xoxb-2' }))
    const desk = deskOn(installations)
    expect(await shown(desk.tokenOf('T1'))).toEqual({ kind: 'gone', reason: 'installation_broken' })
    expect(installations.ended).toEqual([['T1', 'broken', 'refresh_refused']])
    expect(await shown(desk.tokenOf('T2'))).toBe('xoxb-2')
  })

  test.each(['invalid_auth', 'token_revoked', 'account_inactive'])(
    'that Slack calls %s breaks its installation, unless a newer one is there',
    async (error) => {
      const installations = memoryInstallations(installed('T1', { bot_token: 'xoxb-1' }))
      const desk = deskOn(installations)
      expect((await desk.tokenFailed('T1', secret('xoxb-older'), error))?.reveal()).toBe('xoxb-1')
      expect(installations.ended).toEqual([])
      expect(await desk.tokenFailed('T1', secret('xoxb-1'), error)).toBeUndefined()
      expect(installations.ended).toEqual([['T1', 'broken', error]])
    },
  )

  test('that Slack calls expired before its time is refreshed once, and the call is made again with the new one', async () => {
    const installations = memoryInstallations(await rotating('T1', 6 * hour))
    const desk = deskOn(installations)
    const [one, two] = await Promise.all(
      [1, 2].map(() => desk.tokenFailed('T1', secret('xoxb-token-1-of-T1'), 'token_expired')),
    )
    expect([one?.reveal(), two?.reveal()]).toEqual(['xoxb-token-2-of-T1', 'xoxb-token-2-of-T1'])
    expect(refreshes()).toHaveLength(1)
  })

  test('that has expired and cannot be refreshed leaves the installation as it is', async () => {
    const installations = memoryInstallations(installed('T1', { bot_token: 'xoxb-1' }))
    expect(await deskOn(installations).tokenFailed('T1', secret('xoxb-1'), 'token_expired')).toBeUndefined()
    expect(installations.ended).toEqual([])
  })

  test.each([
    ['not_installed', memoryInstallations()],
    ['installation_removed', memoryInstallations(installed('T1', {}, { status: 'removed' }))],
    ['installation_broken', memoryInstallations(installed('T1', {}, { status: 'broken' }))],
    ['installation_broken', memoryInstallations(installed('T1', {}))],
  ])('is not given where there is none: %s', async (reason, installations) => {
    expect(await shown(deskOn(installations).tokenOf('T1'))).toEqual({ kind: 'gone', reason })
  })
})

describe('an event about the installation', () => {
  const envelope = (event: object, more: object = {}) => ({
    type: 'event_callback',
    team_id: 'T1',
    api_app_id: 'A1',
    event,
    ...more,
  })
  const both = () =>
    memoryInstallations(installed('T1', { bot_token: 'xoxb-1' }), installed('T2', { bot_token: 'xoxb-2' }))

  test.each([
    ['app_uninstalled ends it', envelope({ type: 'app_uninstalled' }), ['T1', 'removed', 'app_uninstalled']],
    [
      'tokens_revoked with our bot ends it',
      envelope({ type: 'tokens_revoked', tokens: { bot: ['UT1'] } }),
      ['T1', 'removed', 'tokens_revoked'],
    ],
    [
      'what was authorized decides, not the outer team',
      envelope({ type: 'app_uninstalled' }, { authorizations: [{ team_id: 'T2' }] }),
      ['T2', 'removed', 'app_uninstalled'],
    ],
  ])('%s', async (_, payload, expected) => {
    const installations = both()
    await endRemovedInstallation(installations, app, payload)
    await endRemovedInstallation(installations, app, payload)
    expect(installations.ended).toEqual([expected])
    const desk = deskOn(installations)
    expect(await shown(desk.tokenOf(String(expected[0])))).toEqual({ kind: 'gone', reason: 'installation_removed' })
  })

  test.each([
    ['a person’s token', envelope({ type: 'tokens_revoked', tokens: { oauth: ['UT1'], bot: [] } })],
    ['another bot’s token', envelope({ type: 'tokens_revoked', tokens: { bot: ['U999'] } })],
    ['no tokens at all', envelope({ type: 'tokens_revoked' })],
    ['a workspace that is not here', envelope({ type: 'app_uninstalled' }, { team_id: 'T3' })],
    ['nobody', { type: 'event_callback', event: { type: 'app_uninstalled' } }],
    ['a message that only says so', envelope({ type: 'message', text: 'app_uninstalled' })],
    ['something that is no event', { type: 'app_uninstalled', team_id: 'T1' }],
  ])('naming %s ends nothing', async (_, payload) => {
    const installations = both()
    await endRemovedInstallation(installations, app, payload)
    expect(installations.ended).toEqual([])
  })
})
