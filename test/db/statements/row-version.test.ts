// Two releases on one database: a claim takes what it can read, and leaves the rest in its order.

import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { QueuedCall } from '../../../src/contract/delivery.ts'
import { nameStatement, rowVersion } from '../../../src/db/client.ts'
import { storeInboxDrafts } from '../../../src/db/inbox.ts'
import { claimSends } from '../../../src/db/outbox.ts'
import { type HeldLane, type NewTurn, noAccessBasis, type TurnEnd } from '../../../src/db/turn-rows.ts'
import { claimTurns, completeTurn, openTurn, recountLanePending, releaseLane } from '../../../src/db/turns.ts'
import { aDraft } from '../../doubles/inbox-drafts.ts'
import { silentEnd } from '../../doubles/turn-result.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { openTenantDb } from '../../setup/tenant-db.ts'

/** Pretends that a release of another version wrote these rows. */
const rewrite = (table: 'inbox' | 'turns' | 'outbox', version: number, where = 'true') =>
  nameStatement('test_rewrite', `update ${table} set v = ${version} where ${where}`)
const expire = nameStatement('test_expire', "update lanes set lease_until = now() - interval '1 second'")
const versions = nameStatement(
  'test_versions',
  'select (select min(v) from inbox) as inbox, (select min(v) from turns) as turns, (select min(v) from outbox) as outbox',
)
const addSignal = nameStatement(
  'test_signal',
  `insert into signals (id, tenant, conversation_id, kind, name, payload, state)
   select gen_random_uuid(), tenant, conversation_id, 'timer', 'tea', '{}', 'queued' from lanes`,
)
const attempts = nameStatement('test_attempts', 'select attempt from turns')
const [older, newer] = [rowVersion - 1, rowVersion + 1]

describeOnDatabase('rows of another release', (database) => {
  const turns = (leaseMs = 60_000) => openTenantDb(database(), { holder: 'a', leaseMs, tenant: 'default' })
  const outbox = () => openTenantDb(database(), { holder: 'a', leaseMs: 60_000, tenant: 'default' })
  const fill = (...ids: string[]) =>
    storeInboxDrafts(
      openTenantDb(database()),
      ids.map((messageId) => aDraft({ messageId, candidates: [messageId.split('.')[0] ?? ''] })),
    )
  const waiting = async () => (await claimTurns(turns(), 10)).map((lane) => lane.messages.map((row) => row.messageId))
  const openHeldTurn = async (): Promise<{ held: HeldLane; turn: NewTurn }> => {
    const [held] = await claimTurns(turns(), 1)
    if (held === undefined) throw new Error('nothing to claim')
    const turn = newTurn(held)
    expect(await openTurn(turns(), held, turn, [])).toBe(true)
    return { held, turn }
  }
  const reply = async (parts: number): Promise<void> => {
    const { held, turn } = await openHeldTurn()
    expect(await completeTurn(turns(), held, anEnd(turn, parts))).toBeDefined()
  }

  test('are written with the version of this release', async () => {
    await fill('c1.a')
    await reply(1)
    expect(await database().query(versions, [])).toEqual([{ inbox: rowVersion, turns: rowVersion, outbox: rowVersion }])
  })

  test('are taken when they are older', async () => {
    await fill('c1.a')
    await database().query(rewrite('inbox', older), [])
    const { turn } = await openHeldTurn()
    await database().query(rewrite('turns', older), [])
    await database().query(expire, [])
    const [again] = await claimTurns(turns(), 1)
    expect(again?.openTurn?.id).toBe(turn.id)
    expect(await completeTurn(turns(), again ?? neverHeld, anEnd(turn, 1))).toBeDefined()
    await database().query(rewrite('outbox', older), [])
    expect((await claimSends(outbox(), 1)).map((lane) => lane.calls.length)).toEqual([1])
  })

  test('are left alone when they are newer, with everything that waits behind them', async () => {
    await fill('c1.a', 'c1.b', 'c2.a')
    await database().query(rewrite('inbox', newer, "message_id = 'c1.a'"), [])
    expect(await waiting()).toEqual([['c2.a']])
  })

  test('end what is taken of a lane, so that nothing overtakes them', async () => {
    await fill('c1.a', 'c1.b', 'c1.c')
    await database().query(rewrite('inbox', newer, "message_id = 'c1.b'"), [])
    expect(await waiting()).toEqual([['c1.a']])
  })

  test('do not keep a signal waiting', async () => {
    await fill('c1.a')
    await database().query(rewrite('inbox', newer), [])
    await database().query(addSignal, [])
    const [lane] = await claimTurns(turns(), 1)
    expect(lane).toMatchObject({ messages: [], signal: { name: 'tea' } })
  })

  test('keep an open turn for a release that can read it', async () => {
    await fill('c1.a')
    await openHeldTurn()
    await database().query(rewrite('turns', newer), [])
    await database().query(expire, [])
    expect(await claimTurns(turns(), 10)).toEqual([])
    await database().query(rewrite('turns', rowVersion), [])
    expect(await claimTurns(turns(), 10)).toHaveLength(1)
  })

  test('keep a reply for a release that can send it, and in its order', async () => {
    await fill('c1.a')
    await reply(3)
    await database().query(rewrite('outbox', newer, 'ordinal = 0'), [])
    expect(await claimSends(outbox(), 10)).toEqual([])
    await database().query(rewrite('outbox', newer, 'ordinal = 1'), [])
    await database().query(rewrite('outbox', rowVersion, 'ordinal = 0'), [])
    expect((await claimSends(outbox(), 10)).map((lane) => lane.calls.map((call) => call.clientId))).toEqual([
      ['part-0'],
    ])
  })

  test('do not stop a lane without any row from being repaired', async () => {
    await fill('c1.a')
    await database().query(nameStatement('test_forget', 'delete from inbox'), [])
    const [lane] = await claimTurns(turns(), 1)
    expect(await recountLanePending(turns(), lane ?? neverHeld)).toBe(true)
  })

  test('a lane given back untouched counts no attempt', async () => {
    await fill('c1.a')
    const { held } = await openHeldTurn()
    expect(await releaseLane(turns(), held, 0, 'untouched')).toBe(true)
    expect(await database().query(attempts, [])).toEqual([{ attempt: 1 }])
  })
})

const neverHeld = { conversationId: randomUUID(), epoch: -1 }

function newTurn(held: HeldLane): NewTurn {
  return {
    id: randomUUID(),
    kind: 'messages',
    attempt: 1,
    sessionId: randomUUID(),
    isNewSession: true,
    keeping: null,
    parentTurn: null,
    continuesTurn: false,
    history: null,
    principal: 'test:alice',
    runId: null,
    traceId: 'trace',
    deadlineMs: 60_000,
    replyTo: null,
    members: held.messages.map((row, ord) => ({
      ...noAccessBasis,
      id: row.id,
      ord,
      principal: 'test:alice',
      accessRule: null,
    })),
    signalId: null,
    resumes: null,
    taskId: null,
  }
}

function anEnd(turn: NewTurn, parts: number): TurnEnd {
  const calls = Array.from({ length: parts }, (_, ordinal) => aCall(ordinal))
  return silentEnd(turn, { state: 'replied', leadState: null, leadReason: null, calls })
}

function aCall(ordinal: number): QueuedCall {
  return {
    id: randomUUID(),
    ordinal,
    orderKey: 'c1',
    primary: true,
    purpose: 'reply',
    call: { text: `part ${ordinal}` },
    clientId: `part-${ordinal}`,
    notBefore: null,
    expiresAt: null,
  }
}
