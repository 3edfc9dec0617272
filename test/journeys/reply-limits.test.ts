// Two machines do not answer each other for ever: beyond a channel's limits there is silence, and the operator hears of it once.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { explainById } from '../../src/api/explain/explain.ts'
import type { ReplyLimit } from '../../src/contract/capabilities.ts'
import type { Adapter, InboundEvent } from '../../src/contract/index.ts'
import { senderDomainOrSpace } from '../../src/contract/sender.ts'
import { readAuditPage } from '../../src/db/audit.ts'
import { type Database, nameStatement } from '../../src/db/client.ts'
import { addGrant } from '../../src/db/grants.ts'
import { listMessageCountsByConnection } from '../../src/db/receipts.ts'
import { createSweepStore } from '../../src/db/retention.ts'
import { createRejectionLog } from '../../src/identity/rejected-requests.ts'
import { GatewayError } from '../../src/lib/errors.ts'
import { judgedChannel } from '../doubles/loopback/judged.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { watchedDatabase } from '../doubles/watched-database.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'
import { openTenantDb } from '../setup/tenant-db.ts'

const fates = nameStatement('test_fates', 'select message_id as id, state, reason from inbox order by seq')
const open = nameStatement('test_open', 'select count(*)::int as n from inbox where ended_at is null')
const age = nameStatement(
  'test_age',
  `update reply_windows w set notified_until = notified_until - interval '2 hours', expires_at = expires_at - interval '2 hours',
     answered = (select jsonb_agg(e || jsonb_build_object('until', (e ->> 'until')::timestamptz - interval '2 hours'))
       from jsonb_array_elements(w.answered) e)`,
)
const windows = nameStatement('test_windows', 'select scope, answered from reply_windows')

const expire = nameStatement('test_expire', "update lanes set lease_until = now() - interval '1 second'")

const hour = 3_600_000

describeOnDatabase('an answer', (database) => {
  let vendor: VendorStub
  const gateways: TestGateway[] = []
  const start = (
    limits: readonly ReplyLimit[],
    on: Database = database(),
    run: () => string = () => 'yes',
  ): TestGateway => {
    const limited = ({ capabilities }: Adapter): Partial<Adapter> => ({
      capabilities: { ...capabilities, replyLimits: limits },
    })
    // Addresses as mail has them, whatever the loopback channel calls its people.
    const change = (arrivals: readonly InboundEvent[]): readonly InboundEvent[] =>
      arrivals.map((each) =>
        each.kind === 'message' && each.subject !== undefined
          ? { ...each, subject: each.subject.replace(/^loopback:(.+)-at-(.+)$/, 'mailto:$1@$2.test') }
          : each,
      )
    const [connection] = loopbackConnections(vendor.origin)
    const gateway = createTestGateway(
      on,
      { agents: [defineAgent({ slug: 'demo', run })], connections: connection === undefined ? [] : [connection] },
      {},
      [judgedChannel({ change, adapter: limited })],
    )
    gateways.push(gateway)
    return gateway
  }
  const say = async (
    gateway: TestGateway,
    id: string,
    {
      from = 'ada-at-mail',
      conversation = 'c1',
      text = id,
    }: { from?: string; conversation?: string; text?: string } = {},
  ): Promise<string> => {
    await gateway.deliver({ id, from, conversation, text })
    await settled(gateway)
    return fate(id)
  }
  const settled = (gateway: TestGateway) =>
    settleUntil(gateway, async () => (await database().query<{ n: number }>(open, []))[0]?.n === 0)
  const fate = async (id: string): Promise<string> => {
    const rows = await database().query<{ id: string; state: string; reason: string | null }>(fates, [])
    const row = rows.find((each) => each.id === id)
    return row?.reason == null ? String(row?.state) : `${row.state}(${row.reason})`
  }
  const audited = async (gateway: TestGateway) =>
    (await readAuditPage(gateway.deps.db, { action: 'reply.limit' }, { limit: 10 })).lines

  beforeEach(async () => {
    vendor = await startVendorStub()
  })
  afterEach(async () => {
    for (const gateway of gateways.splice(0)) gateway.stop()
    await vendor.close()
  })

  test('is not given beyond the limit of its conversation; the operator hears of it once, and the books balance', async () => {
    const gateway = start([{ per: 'thread', count: 2, perMs: hour }])
    expect(await say(gateway, 'm1')).toBe('answered')
    expect(await say(gateway, 'm2')).toBe('answered')
    expect(await say(gateway, 'm3')).toBe('refused(reply_limit)')
    expect(await say(gateway, 'm4')).toBe('refused(reply_limit)')
    expect(await say(gateway, 'm5', { conversation: 'c2' })).toBe('answered')
    expect(vendor.messages).toHaveLength(3)
    expect(await audited(gateway)).toMatchObject([
      {
        outcome: 'refused',
        code: 'reply_limit',
        rule: 'thread 2 in 3600 s, a share of their own',
        person: 'mailto:ada@mail.test',
      },
    ])
    expect(gateway.logged.filter(({ event }) => event === 'reply_limit_reached')).toHaveLength(1)
    expect(await listMessageCountsByConnection(openTenantDb(database(), 'default'))).toMatchObject([
      { received: 5, answered: 3, refused: 2, inFlight: 0 },
    ])
    const facts = { db: openTenantDb(database(), 'default'), agents: ['demo'], rejections: createRejectionLog() }
    expect(JSON.stringify(await explainById(facts, 'm3'))).toContain(
      'two machines may be answering each other (reply_limit)',
    )
  })

  test('is given again when the window has moved on, and what is over is swept', async () => {
    const gateway = start([{ per: 'thread', count: 1, perMs: hour }])
    await say(gateway, 'm1')
    expect(await say(gateway, 'm2')).toBe('refused(reply_limit)')
    await database().query(age, [])
    expect(await say(gateway, 'm3')).toBe('answered')
    expect(await say(gateway, 'm4')).toBe('refused(reply_limit)')
    expect(await audited(gateway)).toHaveLength(2)
    await database().query(age, [])
    await createSweepStore(database(), 'default').sweep({
      contentDays: 90,
      refusedHours: 24,
      receiptDays: 120,
      auditDays: 400,
      batch: 10,
    })
    expect(await database().query(windows, [])).toEqual([])
  })

  test('is limited by who writes, by their domain and by their words, whatever else changes', async () => {
    const gateway = start([
      { per: 'sender', count: 2, perMs: hour },
      { per: 'domain', count: 3, perMs: hour },
      { per: 'words', count: 5, perMs: hour },
    ])
    const said: string[] = []
    for (const [id, from] of [
      ['a1', 'ada-at-one'],
      ['a2', 'ada-at-one'],
      ['a3', 'ada-at-one'],
      ['b1', 'bob-at-ONE'],
      ['b2', 'bob-at-ONE'],
      ['c1', 'cid-at-one'],
      ['d1', 'dan-at-one'],
    ] as const)
      said.push(await say(gateway, id, { from, conversation: id }))
    // Those who were answered before have a share of their own; only strangers share that of their domain.
    expect(said).toEqual([
      'answered',
      'answered',
      'refused(reply_limit)',
      'answered',
      'answered',
      'answered',
      'refused(reply_limit)',
    ])
    const alike: string[] = []
    for (const n of [1, 2, 3, 4, 5, 6]) {
      const text = n % 2 ? 'I am  out of office' : 'I am out\nof OFFICE '
      alike.push(await say(gateway, `w${n}`, { from: `x${n}-at-d${n}`, conversation: `w${n}`, text }))
    }
    expect(alike).toEqual([...Array.from({ length: 5 }, () => 'answered'), 'refused(reply_limit)'])
    expect((await audited(gateway)).map(({ rule }) => rule)).toEqual([
      'words 5 in 3600 s, shared by strangers',
      'domain 3 in 3600 s, shared by strangers of one.test',
      'sender 2 in 3600 s, a share of their own',
    ])
    // A row that only counts names nobody.
    expect(JSON.stringify(await database().query(windows, []))).not.toMatch(/mailto|@|office/)
  })

  test('is given to people known before, however many strangers of their domain, of their thread or with their words came', async () => {
    const gateway = start([
      { per: 'thread', count: 4, perMs: hour },
      { per: 'sender', count: 6, perMs: hour },
      { per: 'domain', count: 5, perMs: hour },
      { per: 'words', count: 3, perMs: hour },
    ])
    const text = 'please tell me all about it'
    expect(await say(gateway, 'k1', { from: 'ada-at-big', conversation: 'room' })).toBe('answered')
    const said: string[] = []
    for (let at = 0; at < 8; at += 1)
      said.push(
        await say(gateway, `s${at}`, { from: `s${at}-at-big`, conversation: 'room', ...(at < 3 ? { text } : {}) }),
      )
    expect(said).toContain('refused(reply_limit)')
    expect(said.at(-1)).toBe('refused(reply_limit)')
    expect(await say(gateway, 'k2', { from: 'ada-at-big', conversation: 'room', text })).toBe('answered')
    // A greeting never counts in the share of strangers.
    for (let at = 0; at < 4; at += 1)
      await say(gateway, `h${at}`, { from: `h-at-small${at}`, conversation: `h${at}`, text: 'Hello' })
    expect(await say(gateway, 'n1', { from: 'new-at-else', conversation: 'n1', text: 'hello' })).toBe('answered')
    const facts = { db: openTenantDb(database(), 'default'), agents: ['demo'], rejections: createRejectionLog() }
    expect(JSON.stringify(await explainById(facts, 's7'))).toMatch(/the limit \w+ \d in 3600 s, shared by strangers/)
  })

  test('is never counted among strangers for those whom an operator admitted', async () => {
    const gateway = start([{ per: 'domain', count: 1, perMs: hour }])
    await addGrant(gateway.deps.db, {
      subject: 'loopback:ada-at-big',
      effect: 'allow',
      role: null,
      connection: null,
      agent: null,
      workspaceId: null,
      expiresInMs: null,
      createdBy: 'operator:test',
    })
    expect(await say(gateway, 's1', { from: 'eve-at-big', conversation: 's1' })).toBe('answered')
    expect(await say(gateway, 's2', { from: 'eva-at-big', conversation: 's2' })).toBe('refused(reply_limit)')
    expect(await say(gateway, 'k1', { from: 'ada-at-big', conversation: 'k1' })).toBe('answered')
  })

  test('is counted once for all replicas that answer at the same moment', async () => {
    const [one, other] = [0, 1].map(() => start([{ per: 'sender', count: 3, perMs: hour }]))
    if (one === undefined || other === undefined) throw new Error('no gateways')
    for (const n of [1, 2, 3, 4, 5, 6, 7, 8])
      await one.deliver({ id: `m${n}`, from: 'ada-at-mail', conversation: `c${n}`, text: `${n}` })
    await Promise.all([settled(one), settled(other)])
    expect(vendor.messages).toHaveLength(3)
    expect(await audited(one)).toHaveLength(1)
  })

  test('of a turn that fails and is tried again is one answer', async () => {
    let failures = 1
    const gateway = start([{ per: 'thread', count: 1, perMs: hour }], database(), () => {
      if (failures-- > 0) throw new Error('planted')
      return 'yes'
    })
    expect(await say(gateway, 'm1')).toBe('answered')
    expect(await say(gateway, 'm2')).toBe('refused(reply_limit)')
  })

  test('that was counted when the process died is counted no second time, with what came meanwhile', async () => {
    let isDying = true
    const dying = watchedDatabase(database(), (name) => {
      if (name === 'before:open_turn' && isDying) throw new GatewayError('storage_unavailable', 'planted')
    })
    const first = start([{ per: 'sender', count: 1, perMs: hour }], dying)
    await first.deliver({ id: 'm1', from: 'ada-at-mail', text: 'hello' })
    await first.settle().catch(() => {})
    expect(await database().query(windows, [])).toHaveLength(1)
    isDying = false
    await database().query(expire, [])
    await first.deliver({ id: 'm2', from: 'ada-at-mail', text: 'are you there' })
    await settled(first)
    expect([await fate('m1'), await fate('m2')]).toEqual(['merged', 'answered'])
    expect(await say(first, 'm3', { conversation: 'c3' })).toBe('refused(reply_limit)')
  })
})

test.each([
  ['mailto:ada@Mail.Test', 'mail.test'],
  ['mailto:"a@b"@mail.test', 'mail.test'],
  ['https://social.test/users/ada', 'social.test'],
  ['https://a.b.social.test/users/ada', 'social.test'],
  ['mailto:ada@x.y.shop.co.uk', 'shop.co.uk'],
  ['mailto:ada@sub.abc.de', 'abc.de'],
  ['https://192.0.2.7:8080/users/ada', '192.0.2.7'],
  ['slack:T1/U2', 'slack:T1'],
  ['telegram:42', undefined],
  ['', undefined],
])('the group of %j is %j', (subject, group) => {
  expect(senderDomainOrSpace(subject)).toBe(group)
})
