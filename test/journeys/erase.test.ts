// Forgetting a person through the whole gateway: no row of any table says their name afterwards, nobody else loses a word,
// and nothing brings them back.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { type AgentDefinition, defineAgent } from '../../src/agents/define-agent.ts'
import { textOf } from '../../src/contract/index.ts'
import { nameStatement } from '../../src/db/client.ts'
import { createEraseStore } from '../../src/db/erase-person.ts'
import { listMessageCountsByConnection } from '../../src/db/receipts.ts'
import type { EraseResult } from '../../src/identity/erase.ts'
import { type AtWork, createDoor, putToWork, until } from '../doubles/background-gateway.ts'
import { rowsWith, tablesWith } from '../doubles/find-text-in-database.ts'
import type { LoopbackEvent } from '../doubles/loopback/index.ts'
import { createTestApp, operatorToken } from '../doubles/test-app.ts'
import { createTestGateway, loopbackConnections, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const ada = 'ada-canary'
const bob = 'bob-canary'

/** What operators wrote down; the person's second name is linked with the first. */
const written = nameStatement(
  'test_written',
  `
with p as (select unnest(array['${ada}', '${bob}']) as who),
g as (insert into grants (tenant, id, subject, effect, source, created_by)
  select 'default', gen_random_uuid(), 'loopback:' || who, 'allow', 'test', 'test' from p),
l as (insert into identity_links (tenant, subject, principal, created_by)
  select 'default', 'elsewhere:2-' || who, 'loopback:' || who, 'test' from p),
c as (insert into consents (tenant, id, operation, is_allowed, reason, subject, audit)
  select 'default', gen_random_uuid(), 'share_transcript', true, 'explicit_consent', 'elsewhere:2-' || who, '{}' from p),
k as (insert into call_chains (tenant, root, agent, host, depth)
  select 'default', 'loopback:' || who, 'demo', 'self', 1 from p)
insert into tokens (tenant, id, hash, label, scopes, principal)
select 'default', gen_random_uuid(), md5(who), 'test', '["own"]', 'loopback:' || who from p`,
)
const fates = nameStatement(
  'test_fates',
  'select state, reason, message_id as "messageId", message is null as "isEmpty" from inbox order by seq',
)
const audited = nameStatement(
  'test_audited',
  `select outcome, actor, principal_id as "principalId", object_id as "objectId", detail from audit_log
   where action = 'forget' order by seq`,
)
const drifted = nameStatement(
  'test_drifted',
  `select l.pending from lanes l where l.pending <> (
     select count(*) from inbox x where x.conversation_id = l.conversation_id and x.state in ('queued', 'in_turn'))
   union all select l.pending from send_lanes l where l.pending <> (
     select count(*) from outbox o where o.order_key = l.order_key and o.settled_at is null)`,
)

describeOnDatabase('a forgotten person', (database) => {
  let vendor: VendorStub
  let gateway: TestGateway
  let work: AtWork | undefined
  let door = createDoor()
  const heard: string[] = []

  const run: AgentDefinition['run'] = async (message, context) => {
    const said = textOf(message.parts)
    heard.push(said)
    if (said.includes('ask me')) {
      return (await context.pause.approval({ summary: `do ${said}`, apply_input: { said }, preview: { said } }))
        .question
    }
    if (said.includes('later')) context.schedule(`note ${said}`, 3_600_000, { said })
    if (said.includes('fail')) throw new Error('as asked')
    context.show(`shown ${said}`)
    const found = await context.step('look', async () => {
      if (said.includes('slow')) await door.passed
      return `found ${said}`
    })
    return `re: ${found}`
  }
  const start = () => {
    gateway = createTestGateway(database(), {
      agents: [defineAgent({ slug: 'demo', description: 'Echoes.', run })],
      connections: loopbackConnections(vendor.origin).map((each) =>
        each.id === 'loopback-none' ? { ...each, access: { mode: 'pairing', allow: [] } } : each,
      ),
      turns: { maxFailures: 1 },
    })
    work = putToWork(gateway)
  }
  let count = 0
  const say = (who: string, text: string, more: Partial<LoopbackEvent> = {}, connection?: string) => {
    count += 1
    const id = `m${count}-${who}`
    const event = { id, from: who, text: `${text} ${who}`, conversation: `dm-${who}`, deliveryId: `d${id}`, ...more }
    return gateway.deliver(event, connection)
  }
  const post = async (body: object): Promise<EraseResult> => {
    const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
    const request = { method: 'POST', headers, body: JSON.stringify(body) }
    const response = await createTestApp(gateway, database()).request('/admin/erase', request)
    expect(response.status).toBe(200)
    return response.json() as Promise<EraseResult>
  }
  const forget = (who: string) => post({ principal: `loopback:${who}`, confirm: true })
  const settled = () =>
    until(async () => {
      const books = await listMessageCountsByConnection(gateway.deps.db)
      const waiting = await database().query<{ n: number }>(
        nameStatement('test_open', 'select count(*)::int as n from outbox where settled_at is null'),
        [],
      )
      return books.every((line) => line.inFlight === 0 || line.connection.includes('none')) && waiting[0]?.n === 0
    }, 60_000)

  beforeEach(async () => {
    heard.length = 0
    count = 0
    door = createDoor()
    vendor = await startVendorStub()
  })
  afterEach(async () => {
    door.open()
    await work?.stop()
    gateway.stop()
    await vendor.close()
  })

  /** The same journeys for both, and one room where they meet. */
  const live = async () => {
    for (const who of [ada, bob]) {
      await say(who, 'hello')
      await say(who, 'remind me later')
      await say(who, 'please fail', { conversation: `other-${who}` })
      await say(who, 'ask me', { conversation: `third-${who}` })
      await say(who, '/status', { command: { name: 'status', args: '' } })
      await say(who, 'changed', { event: 'edit', target: `m1-${who}`, version: '2' })
      await say(who, '', { event: 'delete', target: `never-${who}`, version: '2' })
      await say(who, 'in a room', { conversation: 'room' })
      await say(who, 'claimed', { conversation: `private-${who}`, claims: [`private-${who}`] })
      await say(who, 'let me in', {}, 'loopback-none')
      await settled()
      await gateway.deliver({
        id: `m1-${who}`,
        from: who,
        text: `hello ${who}`,
        conversation: `dm-${who}`,
        deliveryId: `again-${who}`,
      })
    }
    await database().query(written, [])
  }

  test('leaves no trace in any table, and everybody else every word', async () => {
    start()
    await live()
    const before = await rowsWith(database(), bob)
    const tables = await tablesWith(database(), ada)
    for (const name of ['inbox', 'messages', 'sessions', 'conversations', 'conversation_aliases', 'participants'])
      expect(tables).toContain(name)
    for (const name of ['turns', 'journal', 'runs', 'run_events', 'outbox', 'timers', 'pending_actions', 'tombstones'])
      expect(tables).toContain(name)
    for (const name of ['principals', 'identity_links', 'grants', 'pairings', 'consents', 'tokens', 'call_chains'])
      expect(tables).toContain(name)
    expect(tables).toContain('duplicates')

    const counted = await post({ principal: `loopback:${ada}`, dryRun: true })
    expect(counted.removed).toMatchObject({ sharedConversations: 1, receipts: 9, grants: 1, tokens: 1, links: 1 })
    expect(await tablesWith(database(), ada)).toEqual(tables)

    // By the second of their names: an operator said that it is the same person.
    const { isDone, removed } = await post({ principal: `elsewhere:2-${ada}`, confirm: true })
    expect(isDone).toBe(true)
    expect(await tablesWith(database(), ada)).toEqual([])
    expect(await rowsWith(database(), bob)).toEqual(before)
    expect(removed).toMatchObject({
      receipts: 10,
      inFlight: 1,
      sharedConversations: 1,
      pairings: 1,
      waits: 1,
      timers: 2,
    })
    expect(removed.lines).toBe(counted.removed.lines)
    expect(await database().query(drifted, [])).toEqual([])
    expect(await database().query(audited, [])).toEqual([
      { outcome: 'done', actor: 'operator:first token', principalId: null, objectId: null, detail: removed },
    ])

    const again = await forget(ada)
    expect(Object.values(again.removed).every((each) => each === 0)).toBe(true)
    expect(await database().query(audited, [])).toHaveLength(1)
  }, 180_000)

  test('is not brought back by a redelivery, nor by one of an edit', async () => {
    start()
    const first = { id: 'm1', from: ada, text: 'hello', conversation: 'dm' }
    const edit = { ...first, text: 'changed', event: 'edit', target: 'm1', version: '2' } as const
    await gateway.deliver(first)
    await settled()
    await gateway.deliver(edit)
    await settled()
    await forget(ada)
    expect(await gateway.deliver(first)).toMatchObject({ acceptances: [{ kind: 'duplicate' }] })
    expect(await gateway.deliver({ ...first, deliveryId: 'd2' })).toMatchObject({
      acceptances: [{ kind: 'duplicate' }],
    })
    expect(await gateway.deliver(edit)).toMatchObject({ acceptances: [{ kind: 'duplicate' }] })
    expect(await tablesWith(database(), ada)).toEqual([])
    expect(heard).toEqual(['hello'])
  }, 60_000)

  test('starts from nothing when they write again', async () => {
    start()
    await say(ada, 'hello')
    await settled()
    await forget(ada)
    await say(ada, 'it is me')
    await settled()
    const sessions = await database().query<{ lines: number }>(
      nameStatement('test_sessions', 'select next_seq::int as lines from sessions'),
      [],
    )
    expect(sessions).toEqual([{ lines: 2 }])
    expect(vendor.messages.map(({ text }) => text)).toEqual([`re: found hello ${ada}`, `re: found it is me ${ada}`])
  }, 60_000)

  test('keeps a room going for the others, without their lines and the answers to them', async () => {
    start()
    for (const who of [ada, bob, ada]) {
      await say(who, 'in a room', { conversation: 'room' })
      await settled()
    }
    await forget(ada)
    const lines = await database().query<{ content: string }>(
      nameStatement('test_lines', "select envelope ->> 'content' as content from messages order by seq"),
      [],
    )
    expect(lines.map(({ content }) => content)).toEqual([
      '',
      '',
      `in a room ${bob}`,
      `re: found in a room ${bob}`,
      '',
      '',
    ])
    await say(bob, 'still here', { conversation: 'room' })
    await settled()
    expect(vendor.messages.at(-1)?.text).toBe(`re: found still here ${bob}`)
  }, 60_000)

  test('is not brought back by the run that was at work for them', async () => {
    start()
    await say(ada, 'slow')
    await until(() => heard.length === 1)
    await say(ada, 'and more')
    const { removed } = await forget(ada)
    expect(removed.inFlight).toBe(2)
    door.open()
    await until(() => gateway.logged.some(({ event }) => event === 'turn_fenced'))
    expect(await tablesWith(database(), ada)).toEqual([])
    expect(vendor.messages).toEqual([])
    expect(await database().query(fates, [])).toEqual([
      { state: 'dead', reason: 'forgotten', messageId: null, isEmpty: true },
      { state: 'refused', reason: 'forgotten', messageId: null, isEmpty: true },
    ])
    expect(await database().query(drifted, [])).toEqual([])
    expect(
      await gateway.deliver({ id: `m1-${ada}`, from: ada, text: `slow ${ada}`, conversation: `dm-${ada}` }),
    ).toMatchObject({
      acceptances: [{ kind: 'duplicate' }],
    })
    expect(await tablesWith(database(), ada)).toEqual([])
    await say(bob, 'hello')
    await until(() => vendor.messages.length === 1)
  }, 60_000)

  test('is not brought back by a call that was on its way', async () => {
    start()
    vendor.failNext('send', { kind: 'hang', applied: true })
    await say(ada, 'hello')
    await until(() => vendor.calls.length === 1)
    const { removed } = await forget(ada)
    expect(removed).toMatchObject({ unsent: 1, inFlight: 1 })
    await until(() => gateway.logged.some(({ event }) => event === 'send_fenced'))
    expect(await tablesWith(database(), ada)).toEqual([])
    expect(await database().query(drifted, [])).toEqual([])
  }, 60_000)

  test('is forgotten to the end by doing it again, wherever it broke off', async () => {
    start()
    await live()
    const store = createEraseStore(database(), 'default')
    const names = await store.namesOf(`loopback:${ada}`)
    const conversation = (await store.nextConversation(names, null)) ?? ''
    await store.stop(names, conversation)
    await store.eraseLines(names, conversation)
    await store.eraseReceipts(names, null)
    expect((await tablesWith(database(), ada)).length).toBeGreaterThan(5)
    await forget(ada)
    expect(await tablesWith(database(), ada)).toEqual([])
  }, 180_000)
})
