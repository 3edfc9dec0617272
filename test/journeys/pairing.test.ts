// A stranger writes, is given a code, and waits; somebody decides; nothing is lost, answered twice or stuck.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../src/agents/define-agent.ts'
import { textOf } from '../../src/contract/index.ts'
import { type Database, nameStatement } from '../../src/db/client.ts'
import { addGrant, listGrants } from '../../src/db/grants.ts'
import { approvePairing, listPairings, rejectPairing } from '../../src/db/pairings.ts'
import { linkIdentity } from '../../src/db/principals.ts'
import { listMessageCountsByConnection } from '../../src/db/receipts.ts'
import { createSweepStore, sweepExpiredDataOnce } from '../../src/db/retention.ts'
import type { LoopbackEvent } from '../doubles/loopback/index.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../doubles/vendor-stub.ts'
import { watchedDatabase } from '../doubles/watched-database.ts'
import { describeOnDatabase } from '../setup/describe-on-database.ts'

const fates = nameStatement('test_fates', 'select message_id as id, state, reason from inbox order by seq')
const lanes = nameStatement('test_lanes', 'select coalesce(sum(pending), 0)::int as pending from lanes')
const pastExpiry = nameStatement('test_past', `update pairings set expires_at = now() - interval '1 second'`)
const decisions = nameStatement(
  'test_audit',
  'select action, outcome, code, actor, principal_id is not null as "isAboutSomebody" from audit_log order by seq',
)
const policy = {
  contentDays: 90,
  refusedHours: 24,
  receiptDays: 120,
  auditDays: 400,
  batch: 500,
  idleMs: 7 * 86_400_000,
}
const by = { name: 'operator:test', subject: null }

describeOnDatabase('a stranger', (database) => {
  let vendor: VendorStub
  let gateway: TestGateway
  const heard: string[] = []
  const start = (on: Database = database()) => {
    const agent = defineAgent({
      slug: 'demo',
      run(message) {
        heard.push(textOf(message.parts))
        return `re: ${textOf(message.parts)}`
      },
    })
    gateway?.stop()
    const access = { mode: 'pairing', allow: [] } as const
    gateway = createTestGateway(on, { agents: [agent], connections: loopbackConnections(vendor.origin, { access }) })
  }
  const say = (id: string, text: string, more: Partial<LoopbackEvent> = {}, connection?: string) =>
    gateway.deliver({ id, from: 'eve', text, ...more }, connection)
  const texts = () => vendor.messages.map((message) => message.text)
  const codes = () => texts().flatMap((text) => /this code: (\S+)/.exec(text)?.[1]?.replace('-', '') ?? [])
  const code = (at = 0) => codes()[at] ?? 'none'
  const fate = async () => {
    const rows = await database().query<{ id: string; state: string; reason: string | null }>(fates, [])
    return rows.map(({ id, state, reason }) => `${id} ${reason === null ? state : `${state}(${reason})`}`)
  }
  const allHeld = async () => (await fate()).every((each) => each.endsWith(' held(pairing_required)'))
  /** The books balance, no lane counts what is held, and nothing needs the sweeper's correction. */
  const balanced = async () => {
    const [line] = await listMessageCountsByConnection(gateway.deps.db)
    if (line === undefined) return undefined
    const { received, answered, merged, refused, dead, inFlight } = line
    expect(received).toBe(answered + merged + refused + dead + inFlight)
    expect(await createSweepStore(database(), 'default').correctDrift(10)).toBe(0)
    return { inFlight, answered, refused }
  }
  const sweep = () => sweepExpiredDataOnce(createSweepStore(database(), 'default'), policy, gateway.deps.log)
  const approve = (given: string) => approvePairing(gateway.deps.db, given, by)
  const reject = (given: string, isBlocked = false) => rejectPairing(gateway.deps.db, given, by, isBlocked)

  beforeEach(async () => {
    heard.length = 0
    vendor = await startVendorStub()
    start()
  })
  afterEach(async () => {
    gateway.stop()
    await vendor.close()
  })

  test('is given a code once, held, let in, and answered once in order', async () => {
    await say('m1', 'one')
    await settleUntil(gateway, () => codes().length === 1)
    await say('m2', 'two')
    await say('m1', 'one')
    await settleUntil(gateway, allHeld)
    expect(await fate()).toEqual(['m1 held(pairing_required)', 'm2 held(pairing_required)'])
    expect(await balanced()).toEqual({ inFlight: 2, answered: 0, refused: 0 })
    expect(await database().query(lanes, [])).toEqual([{ pending: 0 }])
    expect(heard).toEqual([])
    expect(await approve(code())).toMatchObject({ kind: 'decided', messages: 2, pairing: { subject: 'loopback:eve' } })
    expect(await balanced()).toEqual({ inFlight: 2, answered: 0, refused: 0 })
    await settleUntil(gateway, async () => (await balanced())?.inFlight === 0)
    expect(heard).toEqual(['one\ntwo'])
    expect(texts()).toEqual([expect.stringContaining("I can't chat with you yet"), 're: one\ntwo'])
    expect(await fate()).toEqual(['m1 merged', 'm2 answered'])
    await say('m3', 'three')
    await say('m1', 'one')
    await settleUntil(gateway, () => texts().length === 3)
    expect(heard).toEqual(['one\ntwo', 'three'])
    const log = await database().query<{ action: string }>(decisions, [])
    expect(log.filter(({ action }) => action === 'pairing.approve')).toEqual([
      { action: 'pairing.approve', outcome: 'approved', code: null, actor: 'operator:test', isAboutSomebody: true },
    ])
  })

  test('is let in on the connection they wrote to, and asks again on another', async () => {
    await say('m1', 'one')
    await settleUntil(gateway, () => codes().length === 1)
    await approve(code())
    await settleUntil(gateway, () => heard.length === 1)
    await say('m1', 'elsewhere', {}, 'loopback-lookup')
    await settleUntil(gateway, () => codes().length === 2)
    expect(new Set(codes()).size).toBe(2)
    expect(heard).toEqual(['one'])
    const { db } = gateway.deps
    expect(
      await listGrants(db, { subject: 'loopback:eve', isEverything: false, limit: 9, before: null }),
    ).toMatchObject([
      {
        effect: 'allow',
        role: null,
        connection: 'loopback-client-id/loopback-client-id',
        agent: null,
        source: 'pairing',
      },
    ])
  })

  test('who is rejected gets no answer and no word, and a new code when they write again', async () => {
    await say('m1', 'one')
    await settleUntil(gateway, () => codes().length === 1)
    expect(await reject(code())).toMatchObject({ kind: 'decided', messages: 1 })
    expect(await fate()).toEqual(['m1 refused(pairing_rejected)'])
    expect(await balanced()).toEqual({ inFlight: 0, answered: 0, refused: 1 })
    expect(await approve(code())).toMatchObject({
      kind: 'late',
      pairing: { status: 'rejected', decidedBy: 'operator:test' },
    })
    await gateway.settle()
    expect(texts()).toHaveLength(1)
    await say('m2', 'please', { conversation: 'other' })
    await settleUntil(gateway, () => codes().length === 2)
    expect(code(1)).not.toBe(code())
  })

  test('who is rejected and blocked is refused from then on', async () => {
    await say('m1', 'one')
    await settleUntil(gateway, () => codes().length === 1)
    await reject(code(), true)
    await say('m2', 'two')
    await settleUntil(gateway, async () => (await balanced())?.inFlight === 0)
    expect(await fate()).toEqual(['m1 refused(pairing_rejected)', 'm2 refused(blocked)'])
    expect(heard).toEqual([])
  })

  test('whom nobody lets in within the time is refused by the sweeper, and is given a new code later', async () => {
    await say('m1', 'one')
    await settleUntil(gateway, () => codes().length === 1)
    await sweep()
    expect(await fate()).toEqual(['m1 held(pairing_required)'])
    await database().query(pastExpiry, [])
    expect(await approve(code())).toMatchObject({ kind: 'late', pairing: { status: 'expired' } })
    await sweep()
    expect(await fate()).toEqual(['m1 refused(pairing_expired)'])
    expect(await balanced()).toEqual({ inFlight: 0, answered: 0, refused: 1 })
    await say('m2', 'two', { conversation: 'other' })
    await settleUntil(gateway, () => codes().length === 2)
    expect(await approve(code())).toMatchObject({ kind: 'late', pairing: { status: 'expired' } })
    await approve(code(1))
    await settleUntil(gateway, () => heard.length === 1)
    expect(heard).toEqual(['two'])
  })

  test('who writes after their code ran out, before the sweeper came, gets a new one and loses nothing', async () => {
    await say('m1', 'one')
    await settleUntil(gateway, () => codes().length === 1)
    await database().query(pastExpiry, [])
    await say('m2', 'two', { conversation: 'other' })
    await settleUntil(gateway, () => codes().length === 2)
    await sweep()
    expect(await approve(code(1))).toMatchObject({ kind: 'decided', messages: 2 })
    await settleUntil(gateway, () => heard.length === 2)
    expect(heard.toSorted()).toEqual(['one', 'two'])
    expect(await approve(code())).toEqual({ kind: 'unknown' })
  })

  test('may change and take back what is held', async () => {
    await say('m1', 'one')
    await settleUntil(gateway, () => codes().length === 1)
    await say('m2', 'two')
    await settleUntil(gateway, allHeld)
    await say('e1', 'ONE', { event: 'edit', target: 'm1', version: '1' })
    await say('d1', 'gone', { event: 'delete', target: 'm2', version: '1' })
    await settleUntil(gateway, allHeld)
    expect(await balanced()).toEqual({ inFlight: 4, answered: 0, refused: 0 })
    await approve(code())
    await settleUntil(gateway, async () => (await balanced())?.inFlight === 0)
    expect(heard).toEqual(['ONE'])
    expect(await fate()).toEqual([
      'm1 answered',
      'm2 refused(withdrawn)',
      'e1 merged',
      'd1 refused(withdrew_a_waiting_message)',
    ])
  })

  const takeBackAll = async () => {
    await say('m1', 'one')
    await settleUntil(gateway, () => codes().length === 1)
    await say('d1', 'gone', { event: 'delete', target: 'm1', version: '1' })
    await settleUntil(gateway, allHeld)
  }
  const welcome = "You're in! Write me something, and I'll answer."

  test('who took back all they wrote is told once that they are in, also when several let them in at once', async () => {
    await takeBackAll()
    await Promise.all([approve(code()), approve(code()), sweep(), sweep()])
    await approve(code())
    await settleUntil(gateway, () => texts().includes(welcome))
    await sweep()
    await gateway.settle()
    expect(texts().filter((text) => text === welcome)).toHaveLength(1)
    expect(await balanced()).toMatchObject({ inFlight: 0 })
    await say('m2', 'two')
    await settleUntil(gateway, () => heard.includes('two'))
  })

  test('who took back all they wrote is told by the sweeper where the process that let them in died', async () => {
    await takeBackAll()
    await database().query(
      nameStatement('test_half', `update pairings set status = 'approved', decided_at = now()`),
      [],
    )
    await sweep()
    await settleUntil(gateway, () => texts().includes(welcome))
  })

  test('who took back what they wrote in a room, or is not let in, is told nothing', async () => {
    const room = { room: 'group', addressed: 'mention', conversation: 'room' } as const
    await say('m1', 'one', room)
    await settleUntil(gateway, allHeld)
    await say('d1', 'gone', { ...room, event: 'delete', target: 'm1', version: '1' })
    await settleUntil(gateway, allHeld)
    const [waiting] = await listPairings(gateway.deps.db, { status: 'pending', limit: 10, before: null })
    await approve(waiting?.code ?? '')
    await gateway.settle()
    await say('m2', 'one', { from: 'mallory', conversation: 'theirs' })
    await settleUntil(gateway, () => codes().length === 1)
    await say('d2', 'gone', { from: 'mallory', conversation: 'theirs', event: 'delete', target: 'm2', version: '1' })
    await settleUntil(gateway, async () => (await fate()).at(-1)?.includes('held') === true)
    await reject(code())
    await gateway.settle()
    expect(texts()).not.toContain(welcome)
    expect(await balanced()).toMatchObject({ inFlight: 0 })
  })

  test('may have twenty messages waiting, however fast they come; a deletion is always taken', async () => {
    for (let number = 1; number <= 25; number += 1) await say(`m${number}`, `text ${number}`)
    const isQuiet = async () => !(await fate()).some((each) => /queued|in_turn/.test(each))
    await settleUntil(gateway, isQuiet)
    await say('d1', 'gone', { event: 'delete', target: 'm1', version: '1' })
    await settleUntil(gateway, isQuiet)
    const all = await fate()
    expect(all.filter((each) => each.endsWith('refused(too_many_held)'))).toHaveLength(5)
    expect(all.at(-1)).toBe('d1 held(pairing_required)')
    await approve(code())
    await settleUntil(gateway, async () => (await balanced())?.inFlight === 0)
    expect(heard.join('\n').split('\n')).toEqual(Array.from({ length: 19 }, (_, index) => `text ${index + 2}`))
    expect(codes()).toHaveLength(1)
  })

  test('who says a command is held like anybody else, and it is carried out afterwards', async () => {
    await say('c1', '/status', { command: { name: 'status', args: '' } })
    await say('c2', '/new', { command: { name: 'new', args: '' } })
    await settleUntil(gateway, allHeld)
    expect(new Set(codes()).size).toBe(1)
    await approve(code())
    await settleUntil(gateway, async () => (await balanced())?.inFlight === 0)
    expect(texts().filter((text) => !text.startsWith('I do not know you'))).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^Started a new session/),
        expect.stringMatching(/running|working/),
      ]),
    )
  })

  test('in a room they merely share with the agent is left alone; addressed they are told to ask privately, where they are given a code', async () => {
    await say('m1', 'hello all', { room: 'group', addressed: 'none', conversation: 'room' })
    await settleUntil(gateway, async () => (await fate()).every((each) => each.includes('refused')))
    expect(await fate()).toEqual(['m1 refused(not_paired)'])
    expect(texts()).toEqual([])
    await say('m2', 'hello agent', { room: 'group', addressed: 'mention', conversation: 'room' })
    await settleUntil(gateway, () => texts().length === 1)
    expect(texts()).toEqual([expect.stringContaining('Write to me privately')])
    expect(codes()).toEqual([])
    await say('m3', 'as I said', { room: 'group', addressed: 'none', conversation: 'room' })
    await settleUntil(gateway, async () => (await fate()).at(-1) === 'm3 held(pairing_required)')
    expect(texts()).toHaveLength(1)
    await say('m4', 'hello?', { conversation: 'private' })
    await settleUntil(gateway, () => codes().length === 1)
    await approve(code())
    await settleUntil(gateway, () => heard.length === 2)
    expect(heard.some((words) => words.includes('hello agent'))).toBe(true)
  })

  test('is let in by a grant that is added while they wait, and by nothing that only lets them look', async () => {
    await say('m1', 'one')
    await settleUntil(gateway, () => codes().length === 1)
    const { db } = gateway.deps
    const grant = {
      subject: 'loopback:eve',
      effect: 'allow',
      connection: null,
      agent: null,
      workspaceId: null,
    } as const
    const added = { ...grant, createdBy: 'operator:test', expiresInMs: null }
    expect(await addGrant(db, { ...added, role: 'viewer' })).toMatchObject({ messages: 0 })
    expect(await addGrant(db, { ...added, role: null })).toMatchObject({ messages: 1 })
    await settleUntil(gateway, () => heard.length === 1)
    expect(await approve(code())).toMatchObject({ kind: 'late', pairing: { status: 'approved' } })
  })

  test('is refused by a block that is added while they wait', async () => {
    await say('m1', 'one')
    await settleUntil(gateway, () => codes().length === 1)
    const block = { subject: 'loopback:eve', effect: 'deny', role: null, connection: null, agent: null } as const
    await addGrant(gateway.deps.db, { ...block, workspaceId: null, createdBy: 'operator:test', expiresInMs: null })
    expect(await fate()).toEqual(['m1 refused(pairing_rejected)'])
  })

  test('is let in once they are known to be somebody who is', async () => {
    const { db } = gateway.deps
    const grant = { subject: 'person:eve', effect: 'allow', role: null, connection: null, agent: null } as const
    await addGrant(db, { ...grant, workspaceId: null, createdBy: 'operator:test', expiresInMs: null })
    await say('m1', 'one')
    await settleUntil(gateway, () => codes().length === 1)
    expect(await linkIdentity(db, 'loopback:eve', 'person:eve', 'operator:test')).toMatchObject({ messages: 1 })
    await settleUntil(gateway, () => heard.length === 1)
  })

  test('is not lost when the process dies with their code half told', async () => {
    let isDead = false
    start(
      watchedDatabase(database(), (name) => {
        if (name !== 'before:end_access_challenge_turn' || isDead) return
        isDead = true
        throw new Error('killed')
      }),
    )
    await say('m1', 'one')
    await settleUntil(gateway, () => codes().length === 1)
    expect(isDead).toBe(true)
    expect(await fate()).toEqual(['m1 held(pairing_required)'])
    start()
    await approve(code())
    await settleUntil(gateway, async () => (await balanced())?.inFlight === 0)
    expect(heard).toEqual(['one'])
  })

  test('goes on by the sweeper when whoever decided died before the messages were freed', async () => {
    await say('m1', 'one')
    await settleUntil(gateway, () => codes().length === 1)
    await database().query(
      nameStatement('test_half', `update pairings set status = 'approved', decided_at = now()`),
      [],
    )
    const half = { subject: 'loopback:eve', effect: 'allow', role: null, connection: null, agent: null } as const
    await addGrant(gateway.deps.db, { ...half, workspaceId: null, createdBy: 'operator:x', expiresInMs: null })
    expect(await fate()).toEqual(['m1 held(pairing_required)'])
    await sweep()
    expect(gateway.logged.filter(({ level }) => level === 'error')).toEqual([])
    await settleUntil(gateway, async () => (await balanced())?.inFlight === 0)
    expect(heard).toEqual(['one'])
  })
})
