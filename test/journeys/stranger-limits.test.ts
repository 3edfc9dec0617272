// Strangers wait in a list that has an end: however many come, few are kept, few are written to, and other people find their place.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { webhookAnswer } from '../../src/api/http-answers.ts'
import type { StrangerSettings } from '../../src/contract/access.ts'
import { readAuditPage } from '../../src/db/audit.ts'
import { nameStatement } from '../../src/db/client.ts'
import { addGrant } from '../../src/db/grants.ts'
import { listPairingGroups } from '../../src/db/pairings.ts'
import { createSweepStore, sweepExpiredDataOnce } from '../../src/db/retention.ts'
import { localDomain, openMailScene } from '../doubles/mail-setup.ts'
import { draftMail } from '../doubles/signed-mails.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const open = nameStatement('test_open', "select count(*)::int as n from inbox where state in ('queued', 'in_turn')")
const fates = nameStatement(
  'test_fates',
  'select coalesce(reason, state) as fate, count(*)::int as n from inbox group by 1 order by 1',
)
const waiting = nameStatement('test_waiting', "select subject from pairings where status = 'pending' order by subject")
const pastExpiry = nameStatement('test_past', "update pairings set expires_at = now() - interval '1 second'")
const policy = {
  contentDays: 90,
  refusedHours: 24,
  receiptDays: 120,
  auditDays: 400,
  batch: 500,
  idleMs: 7 * 86_400_000,
}

describeOnDatabase('strangers', (database) => {
  const isDone = async () => (await database().query<{ n: number }>(open, []))[0]?.n === 0
  const fate = async () =>
    Object.fromEntries(
      (await database().query<{ fate: string; n: number }>(fates, [])).map((each) => [each.fate, each.n]),
    )
  const subjects = async () => (await database().query<{ subject: string }>(waiting, [])).map(({ subject }) => subject)

  test('of one mail domain fill their part of the list and no more, and a person of another domain is given a code', async () => {
    const scene = await openMailScene(database(), {
      settings: { access: { mode: 'pairing' }, smtp: { port: 0, limits: { mailsPerMinute: 1000 } } },
    })
    try {
      const write = (from: string) => {
        const to = `demo@${localDomain}`
        const head = [`Message-ID: <${from}>`, `Date: ${new Date().toUTCString()}`]
        return scene.send(draftMail({ from: `<${from}>`, to, head, body: 'Hello, it is me.' }), { from, to: [to] })
      }
      const addresses = Array.from({ length: 150 }, (_, at) => `p${at}@${at % 2 === 0 ? '' : `m${at}.`}flood.example`)
      const lane = async (): Promise<void> => {
        for (let from = addresses.shift(); from !== undefined; from = addresses.shift())
          expect(await write(from)).toMatch(/^250 /)
      }
      await Promise.all(Array.from({ length: 10 }, lane))
      await settleUntil(scene.gateway, isDone)
      expect(await write('ada@people.example')).toMatch(/^250 /)
      await settleUntil(scene.gateway, isDone)
      const toAda = async () => (await scene.sent()).filter(({ to }) => to.includes('ada@people.example'))
      // What is written is paced.
      await settleUntil(scene.gateway, async () => (await toAda()).length > 0)
      expect(await fate()).toEqual({ pairing_required: 26, pairings_full: 125 })
      expect(await subjects()).toContain('mailto:ada@people.example')
      expect(await toAda()).toHaveLength(1)
      const sent = (await scene.sent()).length
      expect(sent).toBeLessThanOrEqual(26)
      expect(sent).toBeGreaterThan(1)
      expect(await listPairingGroups(scene.gateway.deps.db)).toEqual([
        { connection: 'email/default', group: 'flood.example', people: 25, notTaken: 125 },
      ])
      const { lines } = await readAuditPage(scene.gateway.deps.db, { action: 'pairing.full' }, { limit: 10 })
      expect(lines).toMatchObject([{ outcome: 'refused', code: 'pairings_full', rule: 'flood.example' }])
      expect(scene.gateway.logged.filter(({ event }) => event === 'pairings_full')).toHaveLength(1)
    } finally {
      await scene.close()
    }
  }, 60_000)

  let vendor: VendorStub
  const gateways: TestGateway[] = []
  const start = (strangers: StrangerSettings): TestGateway => {
    const agents = [defineAgent({ slug: 'demo', run: () => 'yes' })]
    const access = { mode: 'pairing', allow: ['loopback:ada'] } as const
    const connections = loopbackConnections(vendor.origin, { access, strangers })
    const gateway = createTestGateway(database(), { agents, connections })
    gateways.push(gateway)
    return gateway
  }
  beforeEach(async () => {
    vendor = await startVendorStub()
  })
  afterEach(async () => {
    for (const gateway of gateways.splice(0)) gateway.stop()
    await vendor.close()
  })

  test('are as many as may wait also where two replicas take them in at once; who waits already stays', async () => {
    const [one, other] = [start({ pairings: 5 }), start({ pairings: 5 })]
    await one.deliver({ id: 'first', from: 'eve', conversation: 'eve', text: 'one' })
    await settleUntil(one, isDone)
    const people = Array.from({ length: 24 }, (_, at) => `s${at}`)
    for (const from of people) await one.deliver({ id: from, from, conversation: from, text: 'let me in' })
    await Promise.all([settleUntil(one, isDone), settleUntil(other, isDone)])
    expect(await fate()).toEqual({ pairing_required: 5, pairings_full: 20 })
    expect(await subjects()).toContain('loopback:eve')
    expect(vendor.messages).toHaveLength(5)
    // Their list is full; they themselves may go on.
    await one.deliver({ id: 'second', from: 'eve', conversation: 'eve', text: 'two' })
    await one.deliver({ id: 'admitted', from: 'ada', conversation: 'ada', text: 'hello' })
    await settleUntil(one, isDone)
    await one.settle()
    expect(await fate()).toMatchObject({ pairing_required: 6, answered: 1 })
    await database().query(pastExpiry, [])
    await sweepExpiredDataOnce(createSweepStore(database(), 'default'), policy, one.deps.log)
    await one.deliver({ id: 'late', from: 'late', conversation: 'late', text: 'room again?' })
    await settleUntil(one, isDone)
    expect(await subjects()).toEqual(['loopback:late'])
  })

  test('of a few groups leave places for people of other groups', async () => {
    const scene = await openMailScene(database(), {
      settings: { access: { mode: 'pairing' }, strangers: { pairings: 10, pairingsPerGroup: 8 } },
    })
    try {
      const write = (from: string) => {
        const to = `demo@${localDomain}`
        const head = [`Message-ID: <${from}>`, `Date: ${new Date().toUTCString()}`]
        return scene.send(draftMail({ from: `<${from}>`, to, head, body: 'Hello.' }), { from, to: [to] })
      }
      for (let at = 0; at < 20; at += 1) await write(`p${at}@flood${at % 2}.example`)
      await settleUntil(scene.gateway, isDone)
      expect(await fate()).toEqual({ pairing_required: 8, pairings_full: 12 })
      await write('ada@people.example')
      await settleUntil(scene.gateway, isDone)
      expect(await subjects()).toContain('mailto:ada@people.example')
    } finally {
      await scene.close()
    }
  })

  test('are sent no more codes in an hour than the connection sends; the operator sees all who wait', async () => {
    const gateway = start({ noticesPerHour: 2 })
    for (const from of ['s1', 's2', 's3', 's4'])
      await gateway.deliver({ id: from, from, conversation: from, text: 'let me in' })
    await settleUntil(gateway, isDone)
    await gateway.settle()
    expect(await subjects()).toHaveLength(4)
    expect(vendor.messages).toHaveLength(2)
    const { lines } = await readAuditPage(gateway.deps.db, { action: 'reply.limit' }, { limit: 10 })
    expect(lines).toMatchObject([{ rule: 'notices 2 in 3600 s, shared by strangers' }])
  })

  test('who flood a connection are told to come later or dropped; admitted people and people answered before go on', async () => {
    const gateway = start({
      messages: { count: 10, perMs: 3_600_000 },
      messagesPerSender: { count: 3, perMs: 3_600_000 },
      pairings: 2,
    })
    const taken = async (id: string, from: string) =>
      (await gateway.deliver({ id, from, conversation: `${from}-${id}`, text: 'hello there' })).kind
    const eve = await Promise.all([1, 2, 3, 4, 5].map((at) => taken(`e${at}`, 'eve')))
    expect(eve.filter((kind) => kind === 'limited')).toHaveLength(2)
    const crowd: string[] = []
    for (let at = 0; at < 40; at += 1) crowd.push(await taken(`c${at}`, `c${at}`))
    expect(crowd.filter((kind) => kind === 'stored')).toHaveLength(7)
    // By the allow list, and by a grant that was made meanwhile.
    for (let at = 0; at < 8; at += 1) expect(await taken(`a${at}`, 'ada')).toBe('stored')
    expect(await taken('b0', 'bob')).toBe('limited')
    await addGrant(gateway.deps.db, {
      subject: 'loopback:cid',
      effect: 'allow',
      role: null,
      connection: null,
      agent: null,
      workspaceId: null,
      expiresInMs: null,
      createdBy: 'operator:test',
    })
    for (let at = 0; at < 8; at += 1) expect(await taken(`g${at}`, 'cid')).toBe('stored')
    await settleUntil(gateway, isDone)
    await gateway.settle()
    expect(await fate()).toMatchObject({ answered: 16 })
    expect(gateway.logged.filter(({ event }) => event === 'sender_limit_reached')).toHaveLength(1)
    // Nothing is kept of what was too much.
    expect(Object.values(await fate()).reduce((sum, n) => sum + n, 0)).toBe(3 + 7 + 16)
  })

  test('who are proven are taken by mail although forgeries have used up their own share', async () => {
    const strangers = { messages: { count: 2, perMs: 3_600_000 } } as const
    const scene = await openMailScene(database(), { settings: { access: { mode: 'pairing' }, strangers } })
    try {
      const to = `demo@${localDomain}`
      const write = (id: string, from: string) => {
        const head = [`Message-ID: <${id}@people.example>`, `Date: ${new Date().toUTCString()}`]
        return scene.send(draftMail({ from, to, head, body: 'Hello.' }), { to: [to] })
      }
      const answers: string[] = []
      // Of two authors neither is believed.
      for (const at of [1, 2, 3]) answers.push(await write(`f${at}`, '<eve@people.example>, <ada@people.example>'))
      expect(answers.map((answer) => answer.slice(0, 3))).toEqual(['250', '250', '451'])
      expect(await write('newcomer', '<bob@people.example>')).toMatch(/^250 /)
    } finally {
      await scene.close()
    }
  })

  test('by mail and by HTTP are told when to come again, and their sender keeps what they sent', async () => {
    const strangers = { messages: { count: 2, perMs: 3_600_000 } } as const
    const scene = await openMailScene(database(), { settings: { access: { mode: 'pairing' }, strangers } })
    try {
      const to = `demo@${localDomain}`
      const write = (from: string) => {
        const head = [`Message-ID: <${from}>`, `Date: ${new Date().toUTCString()}`]
        return scene.send(draftMail({ from: `<${from}>`, to, head, body: 'Hello.' }), { from, to: [to] })
      }
      const answers: string[] = []
      for (const at of [1, 2, 3]) answers.push(await write(`p${at}@people.example`))
      expect(answers.map((answer) => answer.slice(0, 3))).toEqual(['250', '250', '451'])
    } finally {
      await scene.close()
    }
    const answer = webhookAnswer({
      kind: 'limited',
      reason: 'too_many_messages',
      seconds: 7,
      isDropped: false,
      trace: 't',
    })
    expect([answer.status, answer.headers?.['retry-after']]).toEqual([429, '7'])
    const dropped = webhookAnswer({
      kind: 'limited',
      reason: 'too_many_messages',
      seconds: 7,
      isDropped: true,
      trace: 't',
    })
    expect(dropped.status).toBe(200)
  })
})
