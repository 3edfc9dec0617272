// An install that begins on one replica and ends on another: two gateways, each with its own connection to one PostgreSQL.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { slackChannel } from '../../adapters/slack/index.ts'
import { defineAgent } from '../../src/agents/define-agent.ts'
import type { Database } from '../../src/db/client.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import { type SlackOauth, startSlackOauth } from '../doubles/slack-oauth.ts'
import { installSettings, signingSecret } from '../doubles/slack-tenants.ts'
import { createTestApp } from '../doubles/test-app.ts'
import { createTestGateway } from '../doubles/test-gateway.ts'
import { describeOnPostgres, type TestDatabase } from '../setup/databases.ts'
import { takeDatabase } from '../setup/pooled-database.ts'

const hook = '/hooks/slack/default'

describeOnPostgres('an install behind two replicas', (adminUrl) => {
  let clone: TestDatabase
  let databases: readonly Database[]
  let oauth: SlackOauth
  beforeAll(async () => {
    clone = await takeDatabase(adminUrl)
    databases = [openPostgres({ url: clone.url }), openPostgres({ url: clone.url })]
    oauth = await startSlackOauth()
  })
  afterAll(async () => {
    await Promise.all([oauth.close(), ...databases.map((each) => each.close())])
    await clone.drop()
  })

  const replica = (number: number) => {
    const database = databases[number]
    if (database === undefined) throw new Error('no such replica')
    const settings = { install: installSettings, signingSecret, apiUrl: oauth.apiUrl }
    const connections = [{ channel: 'slack', id: 'default', access: { mode: 'public', allow: [] } as const, settings }]
    const agents = [defineAgent({ slug: 'demo', run: () => 'an answer' })]
    const sealKeys = async () => [new Uint8Array(32).fill(7)]
    const gateway = createTestGateway(database, { agents, connections }, { sealKeys }, [slackChannel])
    return createTestApp(gateway, database)
  }

  test('begins on one, ends on the other, and then nowhere', async () => {
    const [first, second] = [replica(0), replica(1)]
    const begun = await first.request(`${hook}/install`)
    const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state') ?? ''
    const cookie = begun.headers.get('set-cookie')?.split(';')[0] ?? ''
    const end = async (app: ReturnType<typeof replica>): Promise<number> => {
      const query = new URLSearchParams({ state, code: oauth.agree({ team: 'T0ONE' }) })
      return (await app.request(`${hook}/oauth_redirect?${query}`, { headers: { cookie } })).status
    }
    expect([await end(second), await end(first), await end(second)]).toEqual([200, 400, 400])
  })

  test('that comes back at both at the same moment ends once', async () => {
    const apps = [replica(0), replica(1)] as const
    const begun = await apps[0].request(`${hook}/install`)
    const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state') ?? ''
    const cookie = begun.headers.get('set-cookie')?.split(';')[0] ?? ''
    const statuses = await Promise.all(
      [0, 1, 0, 1].map(async (number) => {
        const query = new URLSearchParams({ state, code: oauth.agree({ team: 'T0TWO' }) })
        return (await (apps[number] ?? apps[0]).request(`${hook}/oauth_redirect?${query}`, { headers: { cookie } }))
          .status
      }),
    )
    expect(statuses.toSorted()).toEqual([200, 400, 400, 400])
  })
})
