// Decisions about strangers, at the same time and in the middle of turns, on a server with connections of their own.

import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { defineAgent } from '../../../src/agents/define-agent.ts'
import { textOf } from '../../../src/contract/index.ts'
import { type Database, nameStatement } from '../../../src/db/client.ts'
import { addGrant } from '../../../src/db/grants.ts'
import { approvePairing, expireAndSettlePairings, listPairings, rejectPairing } from '../../../src/db/pairings.ts'
import { openPostgres } from '../../../src/db/postgres.ts'
import { createSweepStore } from '../../../src/db/retention.ts'
import { createDoor, type Door } from '../../doubles/background-gateway.ts'
import { createTestGateway, loopbackConnections, settleUntil, type TestGateway } from '../../doubles/test-gateway.ts'
import { startVendorStub, type VendorStub } from '../../doubles/vendor-stub.ts'
import { watchedDatabase } from '../../doubles/watched-database.ts'
import { describeOnPostgres, type TestDatabase } from '../../setup/databases.ts'
import { takeDatabase } from '../../setup/pooled-database.ts'
import { openTenantDb } from '../../setup/tenant-db.ts'

const fates = nameStatement('test_fates', 'select message_id as id, state, reason from inbox order by seq')
const grantCount = nameStatement('test_grants', 'select count(*)::int as count from grants')
const by = { name: 'operator:test', subject: null }
const subject = 'loopback:eve'
const allow = { subject, effect: 'allow', role: null, connection: null, agent: null, workspaceId: null } as const

describeOnPostgres('a decision about a stranger', (adminUrl) => {
  let clone: TestDatabase
  let database: Database
  let other: Database
  let vendor: VendorStub
  let gateway: TestGateway
  /** Statements that wait at a door of the test until it opens. */
  let doors: Map<string, { readonly reached: Door; readonly door: Door }>
  const heard: string[] = []
  const pairings = () => openTenantDb(other, { tenant: 'default', newId: randomUUID })
  const grants = () => openTenantDb(other, { tenant: 'default', newId: randomUUID })
  const say = (id: string, text: string, conversation = 'main') =>
    gateway.deliver({ id, from: 'eve', text, conversation })
  const codes = () =>
    vendor.messages.flatMap(({ text }) => /approve this code: (\S+)/.exec(text)?.[1]?.replace('-', '') ?? [])
  const fate = async () => {
    const rows = await database.query<{ id: string; state: string; reason: string | null }>(fates, [])
    return rows.map(({ id, state, reason }) => `${id} ${reason === null ? state : `${state}(${reason})`}`)
  }
  const isOver = async () => (await fate()).every((each) => /answered|merged|refused/.test(each))
  const holdUp = (name: string) => {
    const held = { reached: createDoor(), door: createDoor() }
    doors.set(name, held)
    return held
  }

  beforeAll(async () => {
    clone = await takeDatabase(adminUrl)
    database = openPostgres({ url: clone.url })
    other = openPostgres({ url: clone.url })
  })
  afterAll(async () => {
    await Promise.all([database.close(), other.close()])
    await clone.drop()
  })
  beforeEach(async () => {
    heard.length = 0
    doors = new Map()
    vendor = await startVendorStub()
    const watched = watchedDatabase(database, async (name) => {
      const held = doors.get(name)
      doors.delete(name)
      held?.reached.open()
      await held?.door.passed
    })
    const agent = defineAgent({
      slug: 'demo',
      run(message) {
        heard.push(textOf(message.parts))
        return `re: ${textOf(message.parts)}`
      },
    })
    const connections = loopbackConnections(vendor.origin, { access: { mode: 'pairing', allow: [] } })
    gateway = createTestGateway(watched, { agents: [agent], connections })
  })
  afterEach(async () => {
    expect(await createSweepStore(database, 'default').correctDrift(10)).toBe(0)
    gateway.stop()
    await vendor.close()
    await database.transaction(async (sql) => {
      await sql.query(nameStatement('test_retention', `select set_config('parley.retention', 'on', true)`), [])
      const tables =
        'inbox, lanes, turns, conversations, conversation_aliases, outbox, send_lanes, pairings, grants, audit_log'
      await sql.query(nameStatement('test_empty', `truncate ${tables}`), [])
    })
  })

  test('made while a message is about to be held for the same pairing frees that message too', async () => {
    await say('m1', 'one')
    await settleUntil(gateway, () => codes().length === 1)
    const { reached, door } = holdUp('before:open_turn')
    await say('m2', 'two')
    const working = gateway.settle()
    await reached.passed
    expect(await approvePairing(pairings(), codes()[0] ?? '', by)).toMatchObject({ kind: 'decided', messages: 1 })
    door.open()
    await working
    await settleUntil(gateway, isOver)
    expect(heard.join('\n').split('\n')).toEqual(['one', 'two'])
    expect(codes()).toHaveLength(1)
  })

  test('made while a turn at the door is between its claim and its commit leaves nobody outside', async () => {
    await say('m1', 'one')
    await settleUntil(gateway, () => codes().length === 1)
    const { reached, door } = holdUp('before:end_access_challenge_turn')
    await say('m2', 'two', 'elsewhere')
    const working = gateway.settle()
    await reached.passed
    await approvePairing(pairings(), codes()[0] ?? '', by)
    door.open()
    await working
    await settleUntil(gateway, isOver)
    expect(heard.toSorted()).toEqual(['one', 'two'])
    // The second notice was written by a turn whose pairing was decided meanwhile: it is not sent.
    expect(codes()).toHaveLength(1)
  })

  test('that rejects meanwhile refuses what was held, and tells nobody a code that is over', async () => {
    await say('m1', 'one')
    await settleUntil(gateway, () => codes().length === 1)
    const { reached, door } = holdUp('before:end_access_challenge_turn')
    await say('m2', 'two', 'elsewhere')
    const working = gateway.settle()
    await reached.passed
    await rejectPairing(pairings(), codes()[0] ?? '', by, false)
    door.open()
    await working
    await settleUntil(gateway, async () => !(await fate()).some((each) => /queued|in_turn/.test(each)))
    expect(await fate()).toEqual(['m1 refused(pairing_rejected)', 'm2 refused(not_paired)'])
    expect(codes()).toHaveLength(1)
    expect(heard).toEqual([])
  })

  test('by several at once is made by one; the others are told who was first', async () => {
    await say('m1', 'one')
    await settleUntil(gateway, () => codes().length === 1)
    const code = codes()[0] ?? ''
    const names = ['ada', 'bob', 'cyd', 'dan', 'eli', 'fay']
    const outcomes = await Promise.all(
      names.map((name, index) =>
        index % 3 === 2
          ? rejectPairing(pairings(), code, { name, subject: null }, true)
          : approvePairing(pairings(), code, { name, subject: null }),
      ),
    )
    const decided = outcomes.filter((outcome) => outcome.kind === 'decided')
    expect(decided).toHaveLength(1)
    const late = outcomes.flatMap((outcome) => (outcome.kind === 'late' ? [outcome.pairing.decidedBy] : []))
    expect(new Set(late)).toEqual(new Set([decided[0]?.kind === 'decided' ? decided[0].pairing.decidedBy : '']))
    expect(await database.query(grantCount, [])).toEqual([{ count: 1 }])
    await settleUntil(gateway, isOver)
    expect(heard.length + (await fate()).filter((each) => each.includes('refused')).length).toBe(1)
  })

  test('by a grant that came while the first code was being written is found by the sweeper', async () => {
    const { reached, door } = holdUp('before:end_access_challenge_turn')
    await say('m1', 'one')
    const working = gateway.settle()
    await reached.passed
    expect(await addGrant(grants(), { ...allow, createdBy: 'operator:test', expiresInMs: null })).toMatchObject({
      messages: 0,
    })
    door.open()
    await working
    expect(await fate()).toEqual(['m1 held(pairing_required)'])
    expect(await expireAndSettlePairings(other, 'default')).toBe(1)
    await settleUntil(gateway, isOver)
    expect(heard).toEqual(['one'])
  })

  test('and many turns that hold for it do not wait for each other in a circle', async () => {
    await say('m0', 'zero')
    await settleUntil(gateway, () => codes().length === 1)
    const writing = Array.from({ length: 12 }, (_, number) => say(`m${number + 1}`, `text ${number + 1}`, `c${number}`))
    const working = Promise.all([gateway.settle(), ...writing])
    for (let round = 0; round < 20; round += 1) await expireAndSettlePairings(other, 'default')
    await approvePairing(pairings(), codes()[0] ?? '', by)
    await working
    await settleUntil(gateway, isOver)
    expect(heard).toHaveLength(13)
    expect(gateway.logged.filter(({ level }) => level === 'error')).toEqual([])
  })

  test('is listed: those that wait first, page by page, with what each holds', async () => {
    for (const from of ['a', 'b', 'c'])
      await gateway.deliver({ id: `m-${from}`, from, text: 'hello', conversation: from })
    await settleUntil(gateway, () => codes().length === 3)
    await approvePairing(pairings(), codes()[2] ?? '', by)
    const first = await listPairings(pairings(), { status: null, limit: 2, before: null })
    expect(first.map(({ status, held }) => [status, held])).toEqual([
      ['pending', 1],
      ['pending', 1],
    ])
    const second = await listPairings(pairings(), { status: null, limit: 2, before: first[1]?.id ?? null })
    expect(second.map(({ status, decidedBy }) => [status, decidedBy])).toEqual([['approved', 'operator:test']])
    expect(await listPairings(pairings(), { status: 'pending', limit: 9, before: null })).toHaveLength(2)
    await settleUntil(gateway, () => heard.length === 1)
  })
})
