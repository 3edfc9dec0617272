// A gateway with a tenant's name: people find what is theirs under it, and no flag makes rows that match nothing.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { demoAgent } from '../../../src/agents/demo-agent.ts'
import { nameStatement } from '../../../src/db/client.ts'
import { type Api, startApi } from '../../doubles/api.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

const stamped = ['conversations', 'inbox', 'sessions', 'runs', 'pending_actions']
const workspaces = nameStatement(
  'test_workspaces',
  stamped
    .map((table) => `select '${table}' as place, workspace_type || ':' || workspace_id as workspace from ${table}`)
    .join(' union '),
)

describeOnDatabase('a gateway of the tenant acme', (database) => {
  let api: Api
  beforeEach(() => {
    api = startApi(database(), [demoAgent], 30_000, {}, { env: { PARLEY_TENANT: 'acme' } })
  })
  afterEach(() => api.stop())
  const token = async (more: object = {}): Promise<string> => {
    const wish = { label: 'ada', scopes: ['run', 'own'], principal: 'test:ada', ...more }
    const { status, body } = await api.operate('POST', '/admin/tokens', wish)
    expect([status, body.error]).toEqual([200, undefined])
    return body.token
  }
  const own = async (path: string, clear: string) => {
    const response = await api.request(`/api/v1/agent/${path}`, {}, { token: clear })
    expect(response.status).toBe(200)
    return response.json()
  }

  test.each([{}, { workspace: { workspace_type: 'tenant', workspace_id: 'acme' } }])(
    'shows ada her own session and what it waits for, with a token of %j',
    async (more) => {
      const ada = await token(more)
      await api.run('r1', { token: ada, text: '/order two apples' })
      expect(await own('sessions', ada)).toMatchObject({
        sessions: [{ owner: 'test:ada', workspaceType: 'tenant', workspaceId: 'acme' }],
      })
      expect(await own('approvals', ada)).toMatchObject({ actions: [{ summary: 'order two apples' }] })
      const { body } = await api.run('r2', { token: ada, text: '/approve' })
      expect(body.messages[0].content).toContain('Ordered: two apples.')
      expect(await database().query(workspaces, [])).toEqual(
        expect.arrayContaining(stamped.map((place) => ({ place, workspace: 'tenant:acme' }))),
      )
      expect(await database().query(workspaces, [])).toHaveLength(stamped.length)
    },
  )

  test('refuses a workspace that nothing belongs to, and says which there is', async () => {
    const wish = { label: 'x', principal: 'test:ada', workspace: { workspace_type: 'team', workspace_id: 'T1' } }
    const made = await api.operate('POST', '/admin/tokens', wish)
    expect([made.status, made.body.error.code]).toEqual([400, 'bad_request'])
    expect(made.body.error.remedy).toContain('tenant:acme')
    const granted = await api.operate('POST', '/admin/grants', { subject: 'test:ada', workspaceId: 'T1' })
    expect([granted.status, granted.body.error.code]).toEqual([400, 'bad_request'])
    expect(granted.body.error.remedy).toContain('acme')
    expect((await api.operate('POST', '/admin/grants', { subject: 'test:ada', workspaceId: 'acme' })).status).toBe(200)
  })
})
