// Workspaces install the app in a browser, are answered with their own tokens, and lose them alone: through the real routes
// and the real store.
import { expect, test } from 'vitest'
import { slackChannel } from '../../adapters/slack/index.ts'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { nameStatement } from '../../src/db/client.ts'
import { startSlackOauth } from '../doubles/slack-oauth.ts'
import { installSettings, messageEvent, signed, signingSecret } from '../doubles/slack-tenants.ts'
import { startSlackWorkspaces } from '../doubles/slack-workspaces.ts'
import { createTestApp } from '../doubles/test-app.ts'
import { createTestGateway } from '../doubles/test-gateway.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const hook = '/hooks/slack/default'
const kept = nameStatement('test_kept', 'select sealed_credentials::text as kept, status from connections order by id')

describeOnDatabase('an app that workspaces install', (database) => {
  test('answers each with its own token, and the one that uninstalls no more, nor an organization that names no workspace', async () => {
    const [oauth, slack] = [await startSlackOauth(), await startSlackWorkspaces()]
    // Codes and tokens are asked of one server, everything else of the other.
    const routed: typeof fetch = (input, init) => {
      const isInstall = /\/(oauth\.v2\.access|auth\.test)$/.test(String(input))
      return fetch(isInstall ? String(input).replace(slack.apiUrl, oauth.apiUrl) : input, init)
    }
    const limits = { conversation: { count: 100, perMs: 1000 } }
    const settings = { install: installSettings, signingSecret, apiUrl: slack.apiUrl, limits, signs: false }
    const connections = [{ channel: 'slack', id: 'default', access: { mode: 'public', allow: [] } as const, settings }]
    const agents = [defineAgent({ slug: 'demo', run: () => 'an answer' })]
    const sealKeys = async () => [new Uint8Array(32).fill(7)]
    const gateway = createTestGateway(database(), { agents, connections }, { fetch: routed, sealKeys }, [slackChannel])
    const app = createTestApp(gateway, database())
    const install = async (grant: Parameters<typeof oauth.agree>[0]): Promise<number> => {
      const begun = await app.request(`${hook}/install`)
      const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state') ?? ''
      const cookie = begun.headers.get('set-cookie')?.split(';')[0] ?? ''
      const query = new URLSearchParams({ state, code: oauth.agree(grant) })
      return (await app.request(`${hook}/oauth_redirect?${query}`, { headers: { cookie } })).status
    }
    const post = async (body: object): Promise<number> => {
      const { bytes, headers } = signed(body)
      return (await app.request(hook, { method: 'POST', headers, body: new TextDecoder().decode(bytes) })).status
    }
    const tokens = () => slack.calls().map(({ token }) => token)
    try {
      expect([await install({ team: 'T0ONE' }), await install({ team: 'T0TWO' })]).toEqual([200, 200])
      expect([await post(messageEvent('T0ONE')), await post(messageEvent('T0TWO'))]).toEqual([200, 200])
      await gateway.settle()
      expect(tokens().toSorted()).toEqual(['xoxb-token-1-of-T0ONE', 'xoxb-token-2-of-T0TWO'])
      expect(JSON.stringify(await database().query(kept, []))).not.toContain('xoxb')
      expect(await post(messageEvent('T0ONE', {}, { event: { type: 'app_uninstalled' } }))).toBe(200)
      const later = { ts: `${Math.floor(Date.now() / 1000)}.000900` }
      expect([await post(messageEvent('T0ONE', later)), await post(messageEvent('T0TWO', later))]).toEqual([200, 200])
      await gateway.settle()
      expect(tokens().slice(2)).toEqual(['xoxb-token-2-of-T0TWO'])
      expect(await database().query(kept, [])).toMatchObject([{ status: 'removed' }, { status: 'active' }])
      expect(await install({ enterprise: 'E0ORG0001', isOrgWide: true })).toBe(200)
      const whole = { event_id: 'Ev0ORG', event: { type: 'app_uninstalled' }, enterprise_id: 'E0ORG0001' }
      const event = messageEvent('T0THREE', {}, { ...whole, team_id: undefined, authorizations: undefined })
      expect(await post(event)).toBe(200)
      // By the ids of the organization and of the workspaces.
      const rows = await database().query<{ kept: string; status: string }>(kept, [])
      expect(rows.map(({ status }) => status)).toEqual(['removed', 'removed', 'active'])
      expect(rows.map((row) => row.kept.includes('"sealed": "v1.'))).toEqual([false, false, true])
    } finally {
      gateway.stop()
      await Promise.all([oauth.close(), slack.close()])
    }
  })
})
