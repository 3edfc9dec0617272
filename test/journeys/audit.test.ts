// The audit log along a journey: every decision has its line, also when the process dies around it; and what operators do.

import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { toSubmittedAnswer } from '../../src/agents/client-tools.ts'
import { type AgentDefinition, defineAgent } from '../../src/agents/define-agent.ts'
import type { createApp } from '../../src/api/app.ts'
import { type AccessRule, textOf } from '../../src/contract/index.ts'
import { readAuditPage } from '../../src/db/audit.ts'
import { type Database, nameStatement, type Statement } from '../../src/db/client.ts'
import { getPendingAction, resolvePendingAction } from '../../src/db/pending-actions.ts'
import { answerToolRequest } from '../../src/db/tool-requests.ts'
import { GatewayError } from '../../src/lib/errors.ts'
import { putToWork, until } from '../doubles/background-gateway.ts'
import { loopbackArrival } from '../doubles/loopback/fixtures.ts'
import { anAction, aRequest, pauseTurn } from '../doubles/paused-turn.ts'
import { createTestApp, operatorToken } from '../doubles/test-app.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const sql = (text: string) => nameStatement('test_sql', text)
/** What the log says of each message, and what became of it; one must follow from the other. */
const grounds = sql(`
  select i.message_id as id, i.state, i.subject, coalesce(string_agg(l.outcome, ',' order by l.seq), '') as outcomes
  from inbox i left join audit_log l on l.inbox_id = i.id and l.action = 'message.admit' group by i.id order by i.seq`)
const strays = sql(`
  select count(*)::int as count from audit_log l
  where l.action = 'message.admit' and not exists (select 1 from inbox i where i.id = l.inbox_id)`)
const unsettled = sql(`select 1 from inbox where state in ('queued', 'in_turn')`)
const expire = sql(`update lanes set lease_until = now() - interval '1 second' where lease_until is not null`)
const ids = sql('select id from inbox order by seq')

type Ground = { readonly id: string; readonly state: string; readonly subject: string; readonly outcomes: string }

/** Dies once around one statement: before it nothing of it happened, after it everything. */
function dyingOnce(database: Database, name: string, when: 'before' | 'after'): Database {
  let isDue = true
  const query = async <Row>(asked: Statement, params: Parameters<Database['query']>[1]): Promise<readonly Row[]> => {
    const dies = isDue && asked.name === name
    if (dies) isDue = false
    if (dies && when === 'before') throw new GatewayError('storage_unavailable', 'died before', { retryable: true })
    const rows = await database.query<Row>(asked, params)
    if (dies) throw new GatewayError('storage_unavailable', 'died after', { retryable: true })
    return rows
  }
  return { ...database, query }
}

describeOnDatabase('the audit log of a journey', (database) => {
  let vendor: VendorStub
  let gateway: TestGateway
  let app: ReturnType<typeof createApp>
  const run: AgentDefinition['run'] = (message) =>
    textOf(message.parts) === 'die' ? Promise.reject(new Error('asked to')) : `re: ${textOf(message.parts)}`
  const start = (access: AccessRule = { mode: 'public', allow: [] }, on: Database = database(), agent = run) => {
    gateway = createTestGateway(on, {
      agents: [defineAgent({ slug: 'demo', run: agent })],
      connections: loopbackConnections(vendor.origin, { access }),
      turns: { maxFailures: 1 },
    })
    app = createTestApp(gateway, database())
  }
  const settled = () => settleUntil(gateway, async () => (await database().query(unsettled, [])).length === 0, 60_000)
  const lines = async (action: string) =>
    (await readAuditPage(gateway.deps.db, { action }, { limit: 100 })).lines.toReversed().map((line) => ({
      outcome: line.outcome,
      code: line.code,
      actor: line.actor,
      person: line.person,
      object: line.objectId,
    }))
  const ask = async (method: string, path: string, body?: unknown, token = operatorToken) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const response = await app.request(path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) })
    // biome-ignore lint/suspicious/noExplicitAny: bodies are looked into by the tests that name them.
    return { status: response.status, headers: response.headers, body: (await response.json()) as any }
  }
  const idsOf = async () => (await database().query<{ id: string }>(ids, [])).map(({ id }) => id)

  beforeEach(async () => {
    vendor = await startVendorStub()
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
  })

  describe('about messages', () => {
    test('one line for each, with who, evidence, rule and outcome; none for what was forged', async () => {
      start({
        mode: 'allow_list',
        allow: ['loopback:ada'],
        rules: [{ id: 'left', effect: 'deny', subject: 'loopback:eve' }],
      })
      for (const [index, from] of ['ada', 'mallory', 'eve', 'ada'].entries())
        await gateway.deliver({ id: `m${index}`, from, text: 'hi', conversation: `c${index}` })
      const [at] = gateway.gateway.connections
      if (at === undefined) throw new Error('no connection')
      const forged = await loopbackArrival({ id: 'm9', from: 'ada', text: 'hi' }, { secret: 'another-secret' })
      expect(await gateway.gateway.receive(at, forged)).toMatchObject({ kind: 'rejected', reason: 'bad_signature' })
      await settled()
      const { lines: all } = await readAuditPage(gateway.deps.db, { action: 'message.admit' }, { limit: 100 })
      const evidence = { issuer: expect.any(String), method: expect.any(String), assurance: 'platform' }
      const [first] = await idsOf()
      expect(all).toHaveLength(4)
      expect(all.find((line) => line.inboxId === first)).toMatchObject({
        outcome: 'admitted',
        code: null,
        rule: 'allow_list',
        person: 'loopback:ada',
        actor: null,
        evidence,
        connection: 'loopback-client-id/loopback-client-id',
        agent: 'demo',
        traceId: expect.any(String),
      })
      expect(all.map(({ person, outcome, code, rule }) => `${person} ${outcome} ${code} ${rule}`).toSorted()).toEqual([
        'loopback:ada admitted null allow_list',
        'loopback:ada admitted null allow_list',
        'loopback:eve refused denied_by_rule left',
        'loopback:mallory refused not_on_allow_list allow_list',
      ])
    })

    test.each([
      ['before', 'open_turn'],
      ['after', 'open_turn'],
      ['before', 'complete_turn'],
      ['after', 'complete_turn'],
      ['before', 'end_access_challenge_turn'],
      ['after', 'end_access_challenge_turn'],
    ] as const)('no fate without its line and no line without its fate, dying %s %s', async (when, name) => {
      start({ mode: 'pairing', allow: ['loopback:ada'] }, dyingOnce(database(), name, when))
      await gateway.deliver({ id: 'm1', from: 'ada', text: 'hi', conversation: 'c1' })
      await gateway.deliver({ id: 'm2', from: 'stranger', text: 'hi', conversation: 'c2' })
      await gateway.settle()
      // Whoever died gives nothing back: its lease has to run out.
      await database().query(expire, [])
      await settled()
      const found = await database().query<Ground>(grounds, [])
      expect(found.map(({ id, state, outcomes }) => ({ id, state, outcomes }))).toEqual([
        { id: 'm1', state: 'answered', outcomes: 'admitted' },
        { id: 'm2', state: 'held', outcomes: 'held' },
      ])
      expect(await database().query(strays, [])).toEqual([{ count: 0 }])
    })

    test('is told by explain, decision by decision, with the evidence and who had it run again', async () => {
      let isBroken = true
      start(undefined, undefined, () => (isBroken ? Promise.reject(new Error('broken')) : 'fixed'))
      await gateway.deliver({ id: 'm1', from: 'ada', text: 'go' })
      await settled()
      isBroken = false
      const [id] = await idsOf()
      expect(await ask('POST', `/admin/dead-letters/${id}/resubmit`)).toMatchObject({ status: 200 })
      await settled()
      const { explanation } = (await ask('GET', `/admin/explain/${id}`)).body
      const told = explanation.story.lines.map((line: { title: string; text: string }) => `${line.title}: ${line.text}`)
      const decisions = told.filter((line: string) => /^(Admitted|Decision)/.test(line))
      expect(decisions).toEqual([
        expect.stringMatching(/^Admitted: As loopback:ada\. What decided: public: .* On platform evidence of /),
        'Decision: Operator:first token: message.resubmit, done.',
        expect.stringMatching(/^Admitted: As loopback:ada\./),
      ])
    })
  })

  describe('about what operators do', () => {
    const actor = 'operator:first token'

    test('tokens made and revoked, and a revocation that meant none', async () => {
      start()
      const made = await ask('POST', '/admin/tokens', { label: 'ci' })
      await ask('POST', `/admin/tokens/${made.body.id}/revoke`)
      await ask('POST', `/admin/tokens/${made.body.id}/revoke`)
      const about = { actor, person: null, object: made.body.id }
      expect(await lines('token')).toEqual([
        { ...about, outcome: 'done', code: null },
        { ...about, outcome: 'done', code: null },
        { ...about, outcome: 'refused', code: 'none' },
      ])
      const { lines: whole } = await readAuditPage(gateway.deps.db, {}, { limit: 10 })
      expect(JSON.stringify(whole)).not.toContain(made.body.token)
    })

    test('a message queued again, replayed, and one that could not be', async () => {
      start()
      await gateway.deliver({ id: 'm1', from: 'ada', text: 'die' })
      await settled()
      const [id = ''] = await idsOf()
      await ask('POST', `/admin/dead-letters/${id}/resubmit`)
      await settled()
      await ask('POST', `/admin/replay/${id}`)
      await ask('POST', '/admin/dead-letters/0192f1c2-7d5e-7abc-8def-0123456789ab/resubmit')
      expect((await lines('message.resubmit')).map(({ outcome, code, actor }) => [outcome, code, actor])).toEqual([
        ['done', null, actor],
        ['refused', 'nothing_to_do', actor],
      ])
      expect(await lines('message.replay')).toMatchObject([{ outcome: 'done', actor }])
      expect(
        (await readAuditPage(gateway.deps.db, { inboxId: id }, { limit: 9 })).lines.map((line) => line.action),
      ).toEqual(['message.replay', 'message.admit', 'message.resubmit', 'message.admit'])
    })

    test('a delivery sent again and one let go', async () => {
      start()
      vendor.failNext('send', { kind: 'answer', status: 400, body: '{}' })
      vendor.failNext('send', { kind: 'answer', status: 400, body: '{}' })
      await gateway.deliver({ id: 'm1', from: 'ada', text: 'hi' })
      await settled()
      const { deliveries } = (await ask('GET', '/admin/deliveries')).body
      const failed = deliveries[0].id
      await ask('POST', `/admin/deliveries/${failed}/retry`)
      await settled()
      await ask('POST', `/admin/deliveries/${failed}/drop`)
      await ask('POST', `/admin/deliveries/${failed}/drop`)
      const about = { actor, person: null, object: failed }
      expect(await lines('delivery.retry')).toEqual([{ ...about, outcome: 'done', code: null }])
      expect(await lines('delivery.drop')).toEqual([
        { ...about, outcome: 'done', code: null },
        { ...about, outcome: 'refused', code: 'nothing_to_do' },
      ])
    })

    test('a session deleted, by its owner and by an operator, and one that is not theirs', async () => {
      start()
      await gateway.deliver({ id: 'm1', from: 'ada', text: 'hi' })
      await settled()
      const [session] = (await ask('GET', '/admin/sessions')).body.sessions
      const own = async (principal: string) =>
        (await ask('POST', '/admin/tokens', { label: principal, principal })).body.token
      const path = `/admin/sessions/${session.id}`
      expect((await ask('DELETE', path, undefined, await own('loopback:bob'))).status).toBe(404)
      expect((await ask('DELETE', path, undefined, await own('loopback:ada'))).status).toBe(200)
      expect((await ask('DELETE', path)).status).toBe(200)
      expect(await lines('session.delete')).toEqual([
        { outcome: 'refused', code: 'not_found', actor: null, person: 'loopback:bob', object: session.id },
        { outcome: 'done', code: null, actor: null, person: 'loopback:ada', object: session.id },
        { outcome: 'done', code: null, actor, person: 'loopback:ada', object: session.id },
      ])
    })

    test('an approval decided and one attempted too late, a tool answered and one that is none', async () => {
      start()
      const action = anAction()
      const request = aRequest()
      await pauseTurn(database(), { actions: [action], requests: [request] })
      await ask('POST', `/admin/approvals/${action.id}/resolve`, { decision: 'accepted' })
      await ask('POST', `/admin/approvals/${action.id}/resolve`, { decision: 'rejected' })
      const scope = { tenant: 'default', owner: null, conversationId: null }
      await answerToolRequest(
        gateway.deps.db,
        scope,
        request.id,
        toSubmittedAnswer({ result: 'canary-result' }),
        'test:alice',
      )
      await ask('POST', '/admin/tool-requests/0192f1c2-7d5e-7abc-8def-0123456789ab/cancel')
      expect(await lines('approval')).toEqual([
        { outcome: 'accepted', code: null, actor, person: 'test:alice', object: action.id },
        { outcome: 'refused', code: 'already_resolved', actor, person: null, object: action.id },
      ])
      expect(await lines('tool_request')).toEqual([
        { outcome: 'answered', code: null, actor: null, person: 'test:alice', object: request.id },
        expect.objectContaining({ outcome: 'refused', code: 'not_found', actor }),
      ])
      const whole = JSON.stringify((await readAuditPage(gateway.deps.db, {}, { limit: 50 })).lines)
      expect(whole).not.toContain('canary')
    })

    test.each(['before', 'after'] as const)('a decision and its line are one, dying %s', async (when) => {
      start(undefined, dyingOnce(database(), 'resolve_action', when))
      const action = anAction()
      await pauseTurn(database(), { actions: [action] })
      const scope = { tenant: 'default', owner: null, conversationId: null }
      const resolver = { name: actor, isOperator: true, scope }
      const decided = resolvePendingAction(gateway.deps.db, action.id, { status: 'accepted' }, resolver)
      await expect(decided).rejects.toMatchObject({ code: 'storage_unavailable' })
      const found = await getPendingAction(gateway.deps.db, scope, action.id)
      expect(found?.status).toBe(when === 'before' ? 'pending' : 'accepted')
      expect((await lines('approval')).map((line) => line.outcome)).toEqual(when === 'before' ? [] : ['accepted'])
    })

    test('a run stopped by whom it belongs to, and the attempt of somebody else in the room', async () => {
      const heard: string[] = []
      start(undefined, undefined, async (message, { stop: stopped }) => {
        heard.push(message.sender.address)
        await new Promise((resolve) => stopped.addEventListener('abort', resolve, { once: true }))
        return 'stopped'
      })
      const work = putToWork(gateway)
      const stop = (id: string, from: string) =>
        gateway.deliver({ id, from, text: '/stop', conversation: 'room', command: { name: 'stop', args: '' } })
      await gateway.deliver({ id: 'm1', from: 'ada', text: 'work', conversation: 'room' })
      await until(() => heard.length === 1)
      await stop('c1', 'mallory')
      await until(async () => (await lines('run')).length === 1)
      await stop('c2', 'ada')
      await until(async () => (await lines('run')).length === 2)
      await work.stop()
      expect(await lines('run')).toMatchObject([
        { outcome: 'refused', code: 'not_the_owner', actor: null, person: 'loopback:mallory' },
        { outcome: 'stopping', code: null, actor: null, person: 'loopback:ada' },
      ])
    })
  })

  describe('about what was turned away', () => {
    test('a forged arrival writes nothing, names its trace, and is explained by it', async () => {
      start()
      const { bytes, headers } = await loopbackArrival({ id: 'm1', from: 'ada', text: 'canary' }, { secret: 'wrong' })
      const path = '/hooks/loopback-client-id/loopback-client-id'
      const answer = await app.request(path, { method: 'POST', headers, body: Buffer.from(bytes) })
      const { error } = (await answer.json()) as { error: { code: string; trace: string } }
      expect(answer.status).toBe(401)
      expect(error).toMatchObject({ code: 'bad_signature', trace: expect.stringMatching(/^[0-9a-f]{32}$/) })
      expect(answer.headers.get('x-parley-trace')).toBe(error.trace)
      const { explanation } = (await ask('GET', `/admin/explain/${error.trace}`)).body
      expect(explanation.story).toMatchObject({
        fate: 'rejected',
        headline: 'Rejected: its signature does not fit its body (bad_signature). Nothing of it was stored.',
      })
      const rejected = (await ask('GET', '/admin/rejected')).body.rejected
      expect(rejected).toMatchObject([{ trace: error.trace, reason: 'bad_signature', bytes: bytes.byteLength }])
      expect(JSON.stringify([explanation, rejected])).not.toContain('canary')
      expect(await idsOf()).toEqual([])
      expect((await readAuditPage(gateway.deps.db, {}, { limit: 9 })).lines).toEqual([])
    })

    test('wrong tokens are all remembered, and leave one line a minute and kind with their number', async () => {
      start()
      let now = Date.parse('2026-01-01T00:00:00Z')
      app = createTestApp(gateway, database(), { now: () => now, sourceOf: () => 'remote', mayOperate: () => true })
      for (let count = 0; count < 5; count += 1) {
        const { status, headers, body } = await ask('GET', '/admin/stats', undefined, 'canary-wrong')
        expect(status).toBe(401)
        expect(headers.get('x-parley-trace')).toBe(body.error.trace)
      }
      await app.request('/admin/stats')
      now += 61_000
      await ask('GET', '/admin/stats', undefined, 'canary-wrong')
      const { lines: written } = await readAuditPage(gateway.deps.db, { action: 'caller' }, { limit: 9 })
      expect(written.toReversed().map(({ code, outcome, detail }) => ({ code, outcome, detail }))).toEqual([
        { code: 'bad_token', outcome: 'refused', detail: { count: 1 } },
        { code: 'no_token', outcome: 'refused', detail: { count: 1 } },
        { code: 'bad_token', outcome: 'refused', detail: { count: 5 } },
      ])
      const { rejected } = (await ask('GET', '/admin/rejected?connection=admin')).body
      expect(rejected).toHaveLength(7)
      expect(JSON.stringify([rejected, written])).not.toContain('canary')
    })

    test('noise on one connection does not push out what happened on another', async () => {
      start()
      const rejections = [...Array(600).keys()]
      for (const count of rejections) await ask('GET', `/admin/stats?${count}`, undefined, 'wrong')
      const { bytes } = await loopbackArrival({ id: 'm1', from: 'ada', text: 'hi' })
      await app.request('/hooks/loopback-none/loopback-none', { method: 'POST', body: Buffer.from(bytes) })
      for (const count of rejections) await ask('GET', `/admin/stats?${count}`, undefined, 'wrong')
      const all = (await ask('GET', '/admin/rejected?connection=loopback-none/loopback-none')).body.rejected
      expect(all).toHaveLength(1)
      expect((await ask('GET', '/admin/rejected?limit=500')).body.rejected).toHaveLength(500)
    })
  })
})
