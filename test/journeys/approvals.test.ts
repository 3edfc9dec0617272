// A tool that needs a person's consent: the run stops, the conversation goes on, and the run goes on after the decision.
import { afterEach, beforeEach, expect, test } from 'vitest'
import * as z from 'zod'
import { defineAgent, type ModelAgentDefinition } from '../../src/agents/define-agent.ts'
import { openAiCompatible } from '../../src/agents/models/openai-compatible.ts'
import { defineTool } from '../../src/agents/tools/define-tool.ts'
import { nameStatement } from '../../src/db/client.ts'
import { type ScriptedModelServer, startScriptedModel } from '../doubles/scripted-model-server.ts'
import { createTestApp, operatorToken } from '../doubles/test-app.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { madeToken } from '../doubles/tokens.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

type Line = { readonly type: string; readonly callId: string | null; readonly envelope: string }
type Action = {
  readonly id: string
  readonly status: string
  readonly resolver: string | null
  readonly action: Record<string, unknown>
  readonly resume: unknown
  readonly result: unknown
  readonly error: string | null
}

const transcript = nameStatement(
  'test_lines',
  `select envelope ->> 'type' as type, envelope -> 'metadata' ->> 'tool_call_id' as "callId", envelope::text as envelope
   from messages order by seq`,
)
const actions = nameStatement(
  'test_actions',
  `select id, status, resolver, action, resume, resolution_result as result, resolution_error as error
   from pending_actions order by id`,
)
const runs = nameStatement(
  'test_runs',
  'select status, resumes is not null as "isResumed", owner from runs order by id',
)
const unsettled = nameStatement(
  'test_unsettled',
  `select (select count(*) from inbox where state in ('queued', 'in_turn'))::int
    + (select count(*) from signals where state in ('queued', 'in_turn'))::int as count`,
)
const expireAll = nameStatement(
  'test_expire',
  `update timers set due_at = now() - interval '1 s' where fired_at is null`,
)
const outdate = nameStatement('test_outdate', `update pending_actions set expires_at = now() - interval '1 s'`)
const tamperInput = nameStatement(
  'test_tamper',
  `update pending_actions set action = jsonb_set(action, '{apply_input,amount}', '9999') where status = 'pending'`,
)
const makeOperator = nameStatement(
  'test_make_operator',
  `insert into grants (tenant, id, subject, effect, role, source, created_by)
   values ('default', gen_random_uuid(), 'loopback:bob', 'allow', 'operator', 'test', 'test')`,
)
const tamperHash = nameStatement('test_tamper_hash', `update pending_actions set action_hash = 'sha256:00'`)

const secret = 'canary-iban-7731'

describeOnDatabase('an approval', (database) => {
  let vendor: VendorStub
  let server: ScriptedModelServer
  let gateway: TestGateway
  const paid: { amount: number; iban: string; approvedBy: string | undefined }[] = []
  const pay = defineTool({
    name: 'bank/pay',
    description: 'Pays.',
    parameters: z.object({ amount: z.number(), iban: z.string() }),
    action_policy: 'preview',
    sensitive_parameters: ['iban'],
    approval: { summary: ({ amount }) => `pay ${amount} EUR` },
    execute: ({ amount, iban }, { approval }) => {
      paid.push({ amount, iban, approvedBy: approval?.resolver })
      return { paid: amount }
    },
  })
  const looked: string[] = []
  const look = defineTool({
    name: 'bank/look',
    description: 'Looks.',
    parameters: z.object({ at: z.string() }),
    idempotent: true,
    execute: ({ at }) => {
      looked.push(at)
      return { seen: at }
    },
  })
  const callPay = { id: 'pay-1', name: 'bank__pay', arguments: JSON.stringify({ amount: 12, iban: secret }) }
  const callLook = (id: string, at: string) => ({ id, name: 'bank__look', arguments: JSON.stringify({ at }) })

  const start = (changes: Partial<ModelAgentDefinition> = {}) => {
    const model = openAiCompatible({ baseUrl: server.baseUrl, model: 'scripted' })
    gateway = createTestGateway(database(), {
      agents: [defineAgent({ slug: 'demo', model, tools: [pay, look], ...changes })],
      connections: loopbackConnections(vendor.origin),
    })
  }
  let heard = 0
  const say = async (text: string, command?: { name: string; args: string }, from = 'ada') => {
    heard += 1
    await gateway.deliver({ id: `m${heard}`, from, text, ...(command === undefined ? {} : { command }) })
    await settled()
  }
  const decide = (name: 'approve' | 'reject', args = '', from = 'ada') => say(`/${name} ${args}`, { name, args }, from)
  const settled = () =>
    settleUntil(gateway, async () => (await database().query<{ count: number }>(unsettled, []))[0]?.count === 0)
  const texts = () => vendor.messages.map((message) => message.text)
  const stored = async () => database().query<Action>(actions, [])
  const lines = async () => database().query<Line>(transcript, [])
  const codeIn = (text: string | undefined) => /\/approve ([0-9a-f]{6})/.exec(text ?? '')?.[1] ?? ''

  beforeEach(async () => {
    paid.length = 0
    looked.length = 0
    vendor = await startVendorStub()
    server = await startScriptedModel()
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
    await server.close()
  })

  test('is asked for in words a person understands, without secrets, and nothing runs before it', async () => {
    start()
    server.script({ calls: [callPay] })
    await say('pay my rent')
    const [question] = texts()
    expect(question).toContain('pay 12 EUR')
    expect(question).toContain('- amount: 12')
    expect(question).toContain('- iban: [redacted]')
    expect(question).toMatch(/Reply \/approve [0-9a-f]{6} or \/reject [0-9a-f]{6}\. It expires in 30 minutes\./)
    expect(paid).toEqual([])
    const all = await lines()
    expect(all.map((line) => line.type)).toEqual(['text', 'tool_call', 'approval_required', 'multimodal_part'])
    expect(all.map((line) => line.envelope).join()).not.toContain(secret)
    expect(await stored()).toMatchObject([{ status: 'pending', action: { apply_input: { amount: 12, iban: secret } } }])
    expect(await database().query(runs, [])).toMatchObject([{ status: 'approval_required', isResumed: false }])
  })

  test('that is given lets the call run once, with the tool call paired, and the run goes on', async () => {
    start()
    server.script({ calls: [callPay] }, { text: 'Your rent is paid.' })
    await say('pay my rent')
    await decide('approve', codeIn(texts()[0]))
    expect(paid).toEqual([{ amount: 12, iban: secret, approvedBy: expect.stringContaining('ada') }])
    expect(texts().slice(1).toSorted()).toEqual(['Approved: pay 12 EUR. I go on with it.', 'Your rent is paid.'])
    const all = await lines()
    expect(all.filter((line) => line.callId === 'pay-1').map((line) => line.type)).toEqual([
      'tool_call',
      'approval_required',
      'tool_result',
    ])
    const asked = server.requests[1]?.messages ?? []
    expect(asked.slice(-2).map(({ role }) => role)).toEqual(['assistant', 'tool'])
    const [action] = await stored()
    expect(action).toMatchObject({ status: 'accepted', resume: null, result: { paid: 12 }, error: null })
    expect(JSON.stringify(action)).not.toContain(secret)
    expect((await database().query<{ status: string }>(runs, [])).at(-1)).toMatchObject({
      status: 'completed',
      isResumed: true,
      owner: expect.stringContaining('ada'),
    })
  })

  test('that is refused ends the call with an error, and the person is answered', async () => {
    start()
    server.script({ calls: [callPay] }, { text: 'Then I leave it.' })
    await say('pay my rent')
    await decide('reject', `${codeIn(texts()[0])} too much`)
    expect(paid).toEqual([])
    expect(texts().slice(1).toSorted()).toEqual(['Rejected: pay 12 EUR. I will not do it.', 'Then I leave it.'])
    const result = server.requests[1]?.messages.at(-1)
    expect(JSON.stringify(result)).toContain('the person refused. Their reason: too much')
    expect(await stored()).toMatchObject([{ status: 'rejected', error: expect.stringContaining('refused') }])
  })

  test('without a code means the only one that waits; a second one is not decided twice', async () => {
    start()
    server.script({ calls: [callPay] }, { text: 'Paid.' })
    await say('pay')
    await decide('approve')
    await decide('approve')
    expect(paid).toHaveLength(1)
    expect(texts().at(-1)).toBe('Nothing waits for an approval here.')
  })

  test('that nobody gives in time ends by itself', async () => {
    start()
    server.script({ calls: [callPay] }, { text: 'It expired.' })
    await say('pay')
    await database().query(outdate, [])
    await decide('approve', codeIn(texts()[0]))
    expect(texts()[1]).toContain('has expired')
    await database().query(expireAll, [])
    await settleUntil(gateway, () => texts().includes('It expired.'))
    expect(paid).toEqual([])
    expect(await stored()).toMatchObject([{ status: 'expired', error: expect.stringContaining('in time') }])
  })

  test.each([
    ['what would be executed', tamperInput],
    ['its hash', tamperHash],
  ])('does not count for something else: %s was changed in the database', async (_what, change) => {
    start()
    server.script({ calls: [callPay] }, { text: 'Something is wrong; ask your operator.' })
    await say('pay')
    await database().query(change, [])
    await decide('approve')
    expect(paid).toEqual([])
    expect(texts()).toContain('Something is wrong; ask your operator.')
    expect(gateway.logged.filter((line) => line.event === 'approval_tampered')).toHaveLength(1)
    expect(await stored()).toMatchObject([{ error: expect.stringContaining('not what was approved') }])
  })

  test('leaves the conversation free: what is said meanwhile is answered, and the pairs stay in order', async () => {
    start()
    server.script({ calls: [callPay] }, { text: 'Fine, thank you.' }, { text: 'Paid now.' })
    await say('pay')
    await say('how are you?')
    expect(texts().at(-1)).toBe('Fine, thank you.')
    const roles = server.requests[1]?.messages.map(({ role }) => role)
    expect(roles).toEqual(['user', 'assistant', 'user'])
    await decide('approve')
    expect(texts()).toContain('Paid now.')
    const after = server.requests[2]?.messages.map(({ role }) => role)
    expect(after?.slice(-2)).toEqual(['assistant', 'tool'])
    expect(paid).toHaveLength(1)
  })

  test('holds up the rest of its batch, which is done afterwards in its order', async () => {
    start()
    server.script(
      { calls: [callLook('look-1', 'before'), callPay, callLook('look-2', 'after')] },
      { text: 'All done.' },
    )
    await say('go')
    expect(looked).toEqual(['before'])
    await decide('approve')
    expect(looked).toEqual(['before', 'after'])
    expect(paid).toHaveLength(1)
    expect(texts()).toContain('All done.')
    const results = (await lines()).filter((line) => line.type === 'tool_result').map((line) => line.callId)
    expect(results).toEqual(['look-1', 'pay-1', 'look-2'])
  })

  test('is asked for by its terms alone; a policy that says otherwise in so many words is followed', async () => {
    const { action_policy: _, ...terms } = payDefinition
    const asking = defineTool({ ...terms, approval: { summary: () => 'pay the rent' } })
    start({ tools: [asking] })
    server.script({ calls: [callPay] }, { text: 'Paid.' })
    await say('pay')
    expect(texts().at(-1)).toContain('I need an approval before I do this: pay the rent')
    expect(paid).toEqual([])
    gateway.stop()
    start({ tools: [asking], actionPolicy: { tools: { 'bank/pay': 'direct' } } })
    server.script({ calls: [callPay] }, { text: 'Paid at once.' })
    await say('pay now')
    expect(paid).toHaveLength(1)
  })

  test('in a room is for the person whom it is for to give, unless its terms say otherwise', async () => {
    start()
    server.script({ calls: [callPay] }, { text: 'Paid.' })
    await say('pay')
    await decide('approve', codeIn(texts()[0]), 'bob')
    expect(texts().at(-1)).toBe('You cannot decide this. It takes the person it is for.')
    expect(paid).toEqual([])
    await decide('approve', codeIn(texts()[0]), 'ada')
    expect(paid).toHaveLength(1)
  })

  test.each([
    [{ principals: ['loopback:bob'] }, 'a person who was named for it'],
    [
      { requester: false, assurance: 'platform' },
      'another person than the one it is for, an account proven by platform',
    ],
  ] as const)('by terms such as %o is given in the chat by who fits them, and by nobody else', async (by, words) => {
    start({ tools: [defineTool({ ...payDefinition, approval: { by } })] })
    server.script({ calls: [callPay] }, { text: 'Paid.' })
    await say('pay')
    await decide('approve')
    expect(texts().at(-1)).toContain(`You cannot decide this. It takes ${words}`)
    await decide('approve', '', 'bob')
    expect(paid).toHaveLength(1)
  })

  test('by a role is given by who has it at that moment, and an account proven too weakly gives none', async () => {
    const byRole = defineTool({ ...payDefinition, approval: { by: { role: 'operator' } } })
    start({ tools: [byRole] })
    server.script({ calls: [callPay] }, { text: 'Paid.' })
    await say('pay')
    await decide('approve', '', 'bob')
    expect(texts().at(-1)).toBe('You cannot decide this. It takes the role operator.')
    await database().query(makeOperator, [])
    await decide('approve', '', 'bob')
    expect(paid).toHaveLength(1)
    gateway.stop()
    start({ tools: [defineTool({ ...payDefinition, approval: { by: { assurance: 'wallet' } } })] })
    server.script({ calls: [callPay] }, { text: 'Paid.' })
    await say('pay again')
    await decide('approve')
    expect(texts().at(-1)).toBe('You cannot decide this. It takes an account proven by wallet or better.')
    expect(paid).toHaveLength(1)
  })

  test('that a timer leads to is for operators: no person asked for it', async () => {
    const agent = defineAgent({
      slug: 'demo',
      run(_message, { schedule }) {
        schedule('rent', 1, {})
        return 'I will.'
      },
      async onSignal({ kind, payload }, { pause }) {
        if (kind === 'approval') return `It was ${String(payload['decision'])}.`
        return (await pause.approval({ summary: 'pay the rent', apply_input: {} })).question
      },
    })
    gateway = createTestGateway(database(), { agents: [agent], connections: loopbackConnections(vendor.origin) })
    await say('pay my rent each month')
    await settleUntil(gateway, () => texts().some((text) => text.includes('I need an approval')))
    await decide('approve')
    expect(texts().at(-1)).toBe('You cannot decide this. It takes an operator.')
    expect(texts().join('\n')).toContain('pay the rent\nWho may decide: an operator.\nReply /approve')
    const [action] = await stored()
    const app = createTestApp(gateway, database())
    const decided = await app.request(`/admin/approvals/${action?.id}/resolve`, {
      method: 'POST',
      body: '{"decision":"accepted"}',
      headers: { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' },
    })
    expect(decided.status).toBe(200)
    await settled()
    expect(texts()).toContain('It was accepted.')
  })

  test('over the API is given by a person who was named for it, and refused to the one it is for', async () => {
    start({ tools: [defineTool({ ...payDefinition, approval: { by: { principals: ['test:boss'] } } })] })
    server.script({ calls: [callPay] }, { text: 'Paid.' })
    await say('pay')
    const [action] = await stored()
    const app = createTestApp(gateway, database())
    const resolve = async (principal: string) => {
      const { clear } = await madeToken(database(), { scopes: ['own'], principal })
      const answer = await app.request(`/api/v1/agent/approvals/${action?.id}/resolve`, {
        method: 'POST',
        body: '{"decision":"accepted"}',
        headers: { authorization: `Bearer ${clear}`, 'content-type': 'application/json' },
      })
      return [answer.status, await answer.text()] as const
    }
    const [refused, why] = await resolve('loopback:ada')
    expect([refused, why]).toEqual([403, expect.stringContaining('It takes a person who was named for it.')])
    expect((await resolve('test:eve'))[0]).toBe(404)
    expect((await resolve('test:boss'))[0]).toBe(200)
    await settled()
    expect(paid).toHaveLength(1)
    expect(await stored()).toMatchObject([{ status: 'accepted', resolver: expect.stringContaining('test:boss') }])
  })

  test('on terms that no gateway knows stops the start with what to write', () => {
    const broken = (by: unknown) => () => defineTool({ ...payDefinition, approval: { by: by as never } })
    expect(broken('everyone')).toThrow("bank/pay: approval.by must be 'requester', 'anyone', 'other', 'operator'")
    expect(broken({ rol: 'admin' })).toThrow('approval.by.rol is not known')
    expect(broken({ assurance: 'strong' })).toThrow('approval.by.assurance must be one of delegated')
    expect(broken({ principals: [] })).toThrow('approval.by.principals must be a list')
  })

  test('may be kept from the person who asked for it', async () => {
    start({ tools: [defineTool({ ...payDefinition, approval: { by: 'other' } })] })
    server.script({ calls: [callPay] }, { text: 'Paid.' })
    await say('pay')
    await decide('approve')
    expect(texts().at(-1)).toBe('You cannot decide this. It takes another person than the one it is for.')
    expect(paid).toEqual([])
    await decide('approve', '', 'bob')
    expect(paid).toHaveLength(1)
  })

  test('for a tool that is gone meanwhile is told, and runs nothing', async () => {
    start()
    server.script({ calls: [callPay] }, { text: 'I cannot do that any more.' })
    await say('pay')
    gateway.stop()
    start({ tools: [] })
    await decide('approve')
    expect(paid).toEqual([])
    expect(texts()).toContain('I cannot do that any more.')
    expect(JSON.stringify(server.requests[1]?.messages.at(-1))).toContain('not found')
  })

  test('goes on counting: the resumed run stops at the limit the paused one had begun to use', async () => {
    start({ maxTurns: 2 })
    server.script({ calls: [callPay] }, { calls: [callLook('look-1', 'x')] }, { text: 'never reached' })
    await say('pay')
    await decide('approve')
    expect(paid).toHaveLength(1)
    expect(server.requests).toHaveLength(2)
    expect(texts().join()).toContain('used up the steps')
  })

  const payDefinition = {
    name: 'bank/pay',
    description: 'Pays.',
    parameters: z.object({ amount: z.number(), iban: z.string() }),
    action_policy: 'preview',
    sensitive_parameters: ['iban'],
    execute: ({ amount, iban }: { amount: number; iban: string }) => {
      paid.push({ amount, iban, approvedBy: undefined })
      return { paid: amount }
    },
  } as const
})
