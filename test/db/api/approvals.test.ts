// Pending actions over HTTP: listed, shown, decided once, withdrawn; who decides says the token.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AgentContext, type AgentDefinition, defineAgent } from '../../../src/agents/define-agent.ts'
import type { createApp } from '../../../src/api/app.ts'
import { createTestApp, operatorToken } from '../../doubles/test-app.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'

// biome-ignore lint/suspicious/noExplicitAny: bodies are looked into by the tests that name them.
type Body = any

describeOnDatabase('the routes of approvals', (database) => {
  let vendor: VendorStub
  let gateway: TestGateway
  let app: ReturnType<typeof createApp>
  /** A plain function that asks by itself. */
  const agent: AgentDefinition = {
    slug: 'demo',
    async run(_message, context: AgentContext) {
      const asked = await context.pause.approval({
        summary: 'send the newsletter',
        kind: 'newsletter',
        apply_input: { list: 'canary-list' },
        preview: { readers: 12 },
        resume: () => ({ draft: 7 }),
      })
      return asked.question
    },
    onSignal: ({ kind, payload }) =>
      `${kind}: ${String(payload['decision'])} by ${String(payload['resolver'])} ${JSON.stringify(payload['resume'])} ${JSON.stringify(payload['apply_input'] ?? null)}`,
  }
  const call = async (method: string, path: string, body?: unknown, token = operatorToken) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }
    const response = await app.request(`/admin/approvals${path}`, { method, headers, ...sent })
    return { status: response.status, body: (await response.json()) as Body }
  }
  const asked = async (id = 'm1') => {
    await gateway.deliver({ id, from: 'ada', text: 'send it', conversation: id })
    await settleUntil(gateway, () => vendor.messages.some((message) => message.conversation === id))
    return (await call('GET', '?status=pending')).body.actions[0]
  }
  const told = (text: string) => settleUntil(gateway, () => vendor.messages.some((each) => each.text.includes(text)))

  beforeEach(async () => {
    vendor = await startVendorStub()
    const connections = loopbackConnections(vendor.origin)
    gateway = createTestGateway(database(), { agents: [defineAgent(agent)], connections })
    app = createTestApp(gateway, database())
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
  })

  test('show what waits, without what would be executed', async () => {
    const action = await asked()
    expect(action).toMatchObject({ kind: 'newsletter', summary: 'send the newsletter', preview: { readers: 12 } })
    const shown = await call('GET', `/${action.action_id}`)
    expect(shown.body.action).toEqual(action)
    expect((await call('GET', '/summary')).body.summary).toMatchObject({ pending: 1, accepted: 0 })
    expect(JSON.stringify([action, shown, await call('GET', '')])).not.toContain('canary')
  })

  test('decide once: the function that asked goes on with what it left behind and with whom to thank', async () => {
    const { action_id, hash } = await asked()
    const first = await call('POST', `/${action_id}/resolve`, { decision: 'accepted', hash })
    expect(first).toMatchObject({ status: 200, body: { action_id, decision: 'accepted', duplicate: false } })
    expect(await call('POST', `/${action_id}/resolve`, { decision: 'accepted' })).toMatchObject({
      status: 200,
      body: { duplicate: true },
    })
    const other = await call('POST', `/${action_id}/resolve`, { decision: 'rejected' })
    expect(other).toMatchObject({ status: 409, body: { error: { code: 'conflict' } } })
    expect(other.body.error.remedy).toContain('already decided: it is accepted')
    await told('approval: accepted by operator:')
    expect(vendor.messages.at(-1)?.text).toContain('{"draft":7} {"list":"canary-list"}')
    expect(first.body.action.resolver).toMatch(/^operator:/)
  })

  test('take a refusal with its reason, and never who decides from the body', async () => {
    const { action_id } = await asked()
    const forged = await call('POST', `/${action_id}/resolve`, { decision: 'rejected', resolver: 'test:ada' })
    expect(forged.status).toBe(400)
    await call('POST', `/${action_id}/resolve`, { decision: 'rejected', reason: ' not today ' })
    await told('approval: rejected')
    expect(vendor.messages.at(-1)?.text).toMatch(/\{"draft":7\} null$/)
    expect((await call('GET', `/${action_id}`)).body.action.resolution_metadata).toMatchObject({ reason: 'not today' })
  })

  test('withdraw what is not wanted any more, and the agent is told', async () => {
    const { action_id } = await asked()
    expect(await call('DELETE', `/${action_id}`)).toMatchObject({ status: 200, body: { decision: 'deleted' } })
    await told('approval: deleted')
    expect((await call('POST', `/${action_id}/resolve`, { decision: 'accepted' })).status).toBe(409)
  })

  test.each([
    ['an unknown word', { decision: 'approve' }, 400, 'decision must be accepted or rejected'],
    ['no decision', {}, 400, 'decision must be accepted or rejected'],
    ['no JSON', '{', 400, 'send {"decision"'],
    ['another hash', { decision: 'accepted', hash: 'sha256:0' }, 409, 'no longer the action'],
  ])('refuse %s with a remedy, and nothing is decided', async (_what, body, status, remedy) => {
    const { action_id } = await asked()
    const answer = await call('POST', `/${action_id}/resolve`, body)
    expect(answer.status).toBe(status)
    expect(answer.body.error.remedy).toContain(remedy)
    expect((await call('GET', `/${action_id}`)).body.action.status).toBe('pending')
  })

  test('know nothing by a wrong id, a wrong status or a wrong token', async () => {
    const nobody = '0192f1c2-7d5e-7abc-8def-0123456789ab'
    expect((await call('GET', `/${nobody}`)).status).toBe(404)
    expect((await call('POST', `/${nobody}/resolve`, { decision: 'accepted' })).status).toBe(404)
    expect((await call('GET', '/x')).status).toBe(400)
    expect((await call('GET', '?status=done')).status).toBe(400)
    expect((await call('GET', '', undefined, 'wrong')).status).toBe(401)
  })

  test('show a person with a token of their own what is theirs, and let them decide where that is allowed', async () => {
    const { action_id, creator } = await asked()
    const tokenFor = async (principal: string): Promise<string> => {
      const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
      const body = JSON.stringify({ label: 'person', principal })
      const response = await app.request('/admin/tokens', { method: 'POST', headers, body })
      return ((await response.json()) as Body).token
    }
    const [own, foreign] = [await tokenFor(creator), await tokenFor('loopback:somebody-else')]
    expect((await call('GET', '', undefined, foreign)).body.actions).toEqual([])
    expect((await call('GET', '/summary', undefined, foreign)).body.summary.pending).toBe(0)
    expect((await call('GET', `/${action_id}`, undefined, foreign)).status).toBe(404)
    expect((await call('POST', `/${action_id}/resolve`, { decision: 'accepted' }, foreign)).status).toBe(404)
    expect((await call('DELETE', `/${action_id}`, undefined, foreign)).status).toBe(404)
    expect((await call('GET', `/${action_id}`, undefined, own)).body.action.status).toBe('pending')
    const decided = await call('POST', `/${action_id}/resolve`, { decision: 'accepted' }, own)
    expect(decided.body.action).toMatchObject({ status: 'accepted', resolver: creator })
  })

  test('list page by page', async () => {
    for (const id of ['m1', 'm2', 'm3']) await asked(id)
    const first = await call('GET', '?limit=2')
    expect(first.body.actions).toHaveLength(2)
    const rest = await call('GET', `?limit=2&before=${first.body.next}`)
    expect(rest.body).toMatchObject({ next: null })
    expect(rest.body.actions).toHaveLength(1)
  })
})
