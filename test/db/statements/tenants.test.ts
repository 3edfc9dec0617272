// Two tenants in one database with equal ids everywhere: a store is given, counts and shows its own tenant's rows only.

import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { claimControlLanes, claimLanes } from '../../../src/db/claim-lanes.ts'
import { type Database, nameStatement } from '../../../src/db/client.ts'
import { findNewestMessagesByUnindexedId, findRowsByIndexedId, readTimelineFacts } from '../../../src/db/explain.ts'
import { sampleHealth } from '../../../src/db/health.ts'
import { storeInboxDrafts } from '../../../src/db/inbox.ts'
import type { InboxDraft } from '../../../src/db/inbox-row.ts'
import { claimSends, claimSendsSql } from '../../../src/db/outbox.ts'
import {
  dropDelivery,
  findReceipt,
  getDelivery,
  listDeliveries,
  listEndedMessages,
  listMessageCountsByConnection,
  resubmitMessage,
  retryDelivery,
} from '../../../src/db/receipts.ts'
import { findStoredTurnForReplay } from '../../../src/db/replay.ts'
import { createSweepStore } from '../../../src/db/retention.ts'
import { cancelRun, findRuns, listRuns } from '../../../src/db/runs.ts'
import { deleteSession, findSession } from '../../../src/db/sessions.ts'
import { createTranscriptStore, fireDueTimers, fireTimers } from '../../../src/db/transcripts.ts'
import { claimControlTurns, claimTurns, readMsUntilNextDue } from '../../../src/db/turns.ts'
import { aDraft } from '../../doubles/inbox-drafts.ts'
import { anAction, pauseTurn } from '../../doubles/paused-turn.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { openTenantDb } from '../../setup/tenant-db.ts'

const lease = (tenant: string) => ({ holder: tenant, leaseMs: 60_000, tenant })
const page = { limit: 50, before: null, connection: null }

describeOnDatabase('two tenants in one database', (database) => {
  const accept = (tenant: string, changes: Partial<InboxDraft> = {}) =>
    storeInboxDrafts(openTenantDb(database()), [aDraft({ tenant, id: randomUUID(), ...changes })])

  test('the same platform ids are two messages, each deduped in its own tenant', async () => {
    expect(await accept('acme')).toMatchObject([{ kind: 'accepted', flagged: false }])
    expect(await accept('globex')).toMatchObject([{ kind: 'accepted', flagged: false }])
    expect(await accept('acme')).toMatchObject([{ kind: 'duplicate' }])
    expect(await listMessageCountsByConnection(openTenantDb(database(), 'acme'))).toMatchObject([
      { tenant: 'acme', received: 1, duplicates: 1 },
    ])
    expect(await listMessageCountsByConnection(openTenantDb(database(), 'globex'))).toMatchObject([
      { received: 1, duplicates: 0 },
    ])
  })

  test('work is claimed by its own tenant, however long the other waits', async () => {
    await accept('globex')
    expect(await claimTurns(openTenantDb(database(), lease('acme')), 10)).toEqual([])
    expect(await claimControlTurns(openTenantDb(database(), lease('acme')), 10)).toEqual([])
    expect(await readMsUntilNextDue(openTenantDb(database(), 'acme'))).toBeUndefined()
    expect(await readMsUntilNextDue(openTenantDb(database(), 'globex'))).toBe(0)
    expect(await claimTurns(openTenantDb(database(), lease('globex')), 10)).toMatchObject([{ tenant: 'globex' }])
  })

  test('timers fire and calls go out for their own tenant', async () => {
    await pauseTurn(database(), { actions: [anAction({ expiresInMs: -1 })] })
    await database().query(callOf('default'), [randomUUID()])
    expect(await fireDueTimers(openTenantDb(database(), 'acme'), 10)).toBe(0)
    expect(await claimSends(openTenantDb(database(), lease('acme')), 10)).toEqual([])
    expect(await fireDueTimers(openTenantDb(database(), 'default'), 10)).toBe(1)
    expect(await claimSends(openTenantDb(database(), lease('default')), 10)).toHaveLength(1)
  })

  test('whoever holds an id of another tenant finds nothing under it, and changes nothing', async () => {
    const { turnId } = await pauseTurn(database(), { actions: [anAction()] })
    const call = randomUUID()
    await database().query(callOf('default', 'dead'), [call])
    await accept('default', { messageId: 'dead', dedupe: 'dead', content: 'dead', state: 'dead' })
    const [row] = await listEndedMessages(openTenantDb(database(), 'default'), 'dead', page)
    const inboxId = row?.id ?? ''
    await database().query(inConversation, [inboxId])
    const { sessionId } = await sessionOf(database(), turnId)
    const theirs = storesOf(database(), 'acme')
    const ours = storesOf(database(), 'default')
    for (const [what, read] of Object.entries(looks(inboxId, turnId, call, sessionId))) {
      expect(isNothing(await read(theirs)), `acme sees ${what}`).toBe(true)
      expect(isNothing(await read(ours)), `its own tenant sees no ${what}`).toBe(false)
    }
    // In the order of weight: the last ones would change what the others looked for.
    expect(await cancelRun(theirs.db, turnId, 'acme')).toBeUndefined()
    expect(await retryDelivery(theirs.db, call, 'operator:test')).toBe(false)
    expect(await dropDelivery(theirs.db, call, 'operator:test')).toBe(false)
    expect(await resubmitMessage(theirs.db, inboxId, 'operator:test')).toBe(false)
    expect(await deleteSession(theirs.db, {}, sessionId, 'operator:test')).toBe('none')
    expect(await cancelRun(ours.db, turnId, 'me')).toMatchObject({ kind: 'cancelled' })
    expect(await dropDelivery(ours.db, call, 'operator:test')).toBe(true)
    expect(await resubmitMessage(ours.db, inboxId, 'operator:test')).toBe(true)
    expect(await deleteSession(ours.db, {}, sessionId, 'operator:test')).toBe('deleted')
  })

  test('a tenant sweeps by its own configuration, and counts its own', async () => {
    const policy = { contentDays: 0, refusedHours: 0, receiptDays: 0, auditDays: 0, batch: 100 }
    await accept('acme', { state: 'ignored' })
    await accept('globex', { state: 'ignored' })
    await database().query(nameStatement('test_age', "update inbox set ended_at = now() - interval '1 hour'"), [])
    const signs = await sampleHealth(openTenantDb(database(), 'acme'), policy)
    expect(signs.filter(({ kind }) => kind === 'message')).toMatchObject([{ total: 1 }])
    expect(await createSweepStore(database(), 'acme').sweep(policy)).toBeGreaterThan(0)
    expect(await listMessageCountsByConnection(openTenantDb(database(), 'acme'))).toEqual([])
    expect(await listMessageCountsByConnection(openTenantDb(database(), 'globex'))).toMatchObject([{ ignored: 1 }])
  })

  test('sessions nobody agreed to keep, and messages that wait for a pairing, end by the rounds of their own tenant', async () => {
    await database().query(unkept, [randomUUID()])
    await database().query(heldMessage, [randomUUID()])
    const acme = createSweepStore(database(), 'acme')
    const globex = createSweepStore(database(), 'globex')
    expect([await acme.endUnkept(0), await acme.settlePairings()]).toEqual([0, 0])
    expect([await globex.endUnkept(0), await globex.settlePairings()]).toEqual([1, 1])
  })

  test('a lane that disagrees with its rows is corrected by its own tenant', async () => {
    await accept('globex')
    await database().query(nameStatement('test_drift', 'update lanes set pending = 7'), [])
    expect(await createSweepStore(database(), 'acme').correctDrift(10)).toBe(0)
    expect(await createSweepStore(database(), 'globex').correctDrift(10)).toBe(1)
  })

  test.each([
    [claimLanes, 'lanes_due'],
    [claimControlLanes, 'lanes_control'],
    [claimSendsSql, 'send_lanes_due'],
    [fireTimers, 'timers_due'],
  ])('$name finds the work of a tenant by its index, in the order it is due', async (claim, index) => {
    const explained = nameStatement('test_explain', `explain (generic_plan, format json) ${claim.text}`)
    const [plan] = await database().query<{ 'QUERY PLAN': unknown }>(explained, [])
    const text = JSON.stringify(plan)
    expect(text).toContain(`"Index Name":"${index}"`)
    const conditions = [...text.matchAll(/"Index Name":"(\w+)"[^{}]*?"Index Cond":"([^"]*)/g)]
    expect(conditions.find(([, name]) => name === index)?.[2]).toMatch(/tenant = .*(next_at|due_at) <= now/)
  })
})

const unkept = nameStatement(
  'test_unkept',
  `with lane as (
     insert into lanes (conversation_id, tenant, connection, pending) values ($1, 'globex', 'test', 0) returning 1)
   insert into sessions (id, tenant, connection, conversation_id, agent, is_retained, expires_at, last_activity_at)
   select $1, 'globex', 'test', $1, 'demo', false, now() - interval '1 hour', now() - interval '1 hour' from lane`,
)

/** Its pairing is gone: whoever comes round decides about it anew. */
const heldMessage = nameStatement(
  'test_held',
  `insert into inbox (id, tenant, connection, dedupe_key, content_hash, v, kind, agent, state, conversation_id, pairing_id, trace_id)
   values ($1, 'globex', 'test', 'k', 'h', 1, 'message', 'demo', 'held', $1, $1, 't')`,
)

/** Only what stands in a conversation can be driven again. */
const inConversation = nameStatement('test_place', 'update inbox set conversation_id = id where id = $1')

const callOf = (tenant: string, state = 'queued') =>
  nameStatement(
    'test_call',
    `with call as (
       insert into outbox (id, tenant, connection, origin, ordinal, order_key, "primary", purpose, v, call, client_id, state,
         trace_id, vendor_id, settled_at)
       values ($1, '${tenant}', 'test', $1, 0, 'k', true, 'reply', 1, '{}', 'c', '${state}', 't', 'vendor-1',
         case when '${state}' = 'queued' then null else now() end) returning 1)
     insert into send_lanes (tenant, connection, order_key, pending)
     select '${tenant}', 'test', 'k', case when '${state}' = 'queued' then 1 else 0 end from call`,
  )

async function sessionOf(database: Database, turnId: string): Promise<{ sessionId: string }> {
  const find = nameStatement('test_session', 'select session_id as "sessionId" from turns where id = $1')
  const [row] = await database.query<{ sessionId: string }>(find, [turnId])
  return row ?? { sessionId: '' }
}

type Stores = ReturnType<typeof storesOf>

function storesOf(database: Database, tenant: string) {
  return { db: openTenantDb(database, lease(tenant)), transcripts: createTranscriptStore(database, tenant) }
}

function looks(inboxId: string, turnId: string, call: string, sessionId: string) {
  const message = { kind: 'message', id: inboxId } as const
  return {
    'the receipt': (at: Stores) => findReceipt(at.db, inboxId),
    'the dead': (at: Stores) => listEndedMessages(at.db, 'dead', page),
    'a delivery': (at: Stores) => getDelivery(at.db, call),
    'the deliveries': (at: Stores) => listDeliveries(at.db, ['dead'], page),
    'a run': (at: Stores) => findRuns(at.db, turnId),
    'the runs': (at: Stores) => listRuns(at.db, { limit: 10, before: null, status: null }),
    'a session': (at: Stores) => findSession(at.db, {}, sessionId),
    'a message by id': (at: Stores) => findRowsByIndexedId(at.db, inboxId, [], 5),
    'a message by its platform id': (at: Stores) => findRowsByIndexedId(at.db, 'dead', [], 5),
    'a delivery by the id of the vendor': (at: Stores) => findRowsByIndexedId(at.db, 'vendor-1', [], 5),
    'a message by its trace': (at: Stores) => findNewestMessagesByUnindexedId(at.db, aDraft().traceId, 5),
    'the story of a message': async (at: Stores) => (await readTimelineFacts(at.db, message)).message,
    'the story of a turn': async (at: Stores) => (await readTimelineFacts(at.db, { kind: 'turn', id: turnId })).turns,
    'the story of a delivery': async (at: Stores) =>
      (await readTimelineFacts(at.db, { kind: 'delivery', id: call })).deliveries,
    'a replay': (at: Stores) => findStoredTurnForReplay(at.db, inboxId, 1, 1),
  }
}

function isNothing(found: unknown): boolean {
  return found === undefined || found === null || (Array.isArray(found) && found.length === 0)
}
