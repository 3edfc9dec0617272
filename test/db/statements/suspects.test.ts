// Which absences count as the death of a process on its turn, and which turns are suspected after it.

import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { nameStatement } from '../../../src/db/client.ts'
import { sampleHealth } from '../../../src/db/health.ts'
import { storeInboxDrafts } from '../../../src/db/inbox.ts'
import { expireLanes } from '../../../src/db/open-turn.ts'
import {
  clearCrashOfReclaimedTurn,
  clearHolderOfHeldLanes,
  countSuspectTurnsByCrashes,
  freeLanesOfDeadHolder,
} from '../../../src/db/suspect-turns.ts'
import { type HeldLane, noAccessBasis } from '../../../src/db/turn-rows.ts'
import { claimTurns, completeTurn, openTurn, releaseLane, resumeTurn, splitTurn } from '../../../src/db/turns.ts'
import { aDraft } from '../../doubles/inbox-drafts.ts'
import { silentEnd } from '../../doubles/turn-result.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { openTenantDb } from '../../setup/tenant-db.ts'

const expire = nameStatement('test_expire', "update lanes set lease_until = now() - interval '1 second'")
const crashesOf = nameStatement('test_crashes', 'select cardinality(crash_epochs) as crashes from turns where id = $1')

describeOnDatabase('a turn whose holder is gone', (database) => {
  const process = (holder: string) => {
    const lease = { holder, leaseMs: 60_000, tenant: 'default' }
    return { ...openTenantDb(database(), lease), ...openTenantDb(database(), lease) }
  }
  const fill = (...ids: string[]) =>
    storeInboxDrafts(
      openTenantDb(database()),
      ids.map((messageId) => aDraft({ messageId, candidates: [messageId.split('.')[0] ?? ''] })),
    )
  const claim = async (holder: string, crashes?: string): Promise<HeldLane> => {
    const [held] = await claimTurns(process(holder), 1, undefined, crashes)
    if (held === undefined) throw new Error('nothing to claim')
    return held
  }
  /** A turn that this process has begun. */
  const begin = async (holder: string): Promise<{ held: HeldLane; id: string }> => {
    await fill('c1.a')
    const held = await claim(holder)
    const id = randomUUID()
    expect(await openTurn(process(holder), held, newTurn(id, held), [])).toBe(true)
    return { held, id }
  }
  /** The next process goes on with it, and is gone as well. */
  const goOn = async (holder: string, id: string): Promise<HeldLane> => {
    const held = await claim(holder)
    expect(await resumeTurn(process(holder), held, id)).toBe(true)
    return held
  }
  const vanish = () => database().query(expire, [])
  const crashes = async (id: string) => (await database().query<{ crashes: number }>(crashesOf, [id]))[0]?.crashes

  test('is counted once for every process that let its lease run out', async () => {
    const { id } = await begin('a')
    await vanish()
    expect((await goOn('b', id)).openTurn).toMatchObject({ crashes: 1 })
    await vanish()
    expect((await goOn('c', id)).openTurn).toMatchObject({ crashes: 2 })
    const signs = await sampleHealth(openTenantDb(database(), 'default'), { contentDays: 30, receiptDays: 30 })
    expect(signs.filter(({ kind }) => kind === 'crash')).toMatchObject([{ total: 2 }])
    expect(signs.filter(({ kind }) => kind === 'suspect')).toMatchObject([{ current: 1 }])
  })

  test('is not counted for a process that never began with it', async () => {
    const { id } = await begin('a')
    await vanish()
    await claim('b')
    await vanish()
    expect((await claim('c')).openTurn).toMatchObject({ crashes: 1 })
    expect(await crashes(id)).toBe(1)
  })

  test('is not counted for one that stopped in order, at a step or after its grace', async () => {
    const { id, held } = await begin('a')
    expect(await releaseLane(process('a'), held, 0, 'stopping')).toBe(true)
    await goOn('b', id)
    await clearHolderOfHeldLanes(process('b'))
    // It may still be at work for a moment.
    expect(await claimTurns(process('c'), 1)).toEqual([])
    await vanish()
    expect((await goOn('c', id)).openTurn).toMatchObject({ crashes: 0 })
  })

  test('is not counted for one that takes it up again itself, as after an outage of the database', async () => {
    const { id } = await begin('a')
    await vanish()
    expect((await goOn('a', id)).openTurn).toMatchObject({ crashes: 0 })
  })

  test('is taken back by one that was only frozen, and only its own', async () => {
    const { id, held } = await begin('a')
    await vanish()
    const second = await goOn('b', id)
    await vanish()
    await goOn('c', id)
    expect(await crashes(id)).toBe(2)
    await clearCrashOfReclaimedTurn(process('a'), held, id)
    await clearCrashOfReclaimedTurn(process('a'), held, id)
    expect(await crashes(id)).toBe(1)
    await clearCrashOfReclaimedTurn(process('b'), second, id)
    expect(await crashes(id)).toBe(0)
  })

  test('is not counted any more once a frozen one has said that it is there', async () => {
    const { id, held } = await begin('a')
    await clearCrashOfReclaimedTurn(process('a'), held, id)
    await vanish()
    expect((await goOn('b', id)).openTurn).toMatchObject({ crashes: 0 })
  })

  test('goes on at once when its process is known to be dead, and counts unless we ended it', async () => {
    const { id } = await begin('a')
    await freeLanesOfDeadHolder(process('gateway'), 'a', 'ended')
    expect((await goOn('b', id)).openTurn).toMatchObject({ crashes: 0 })
    await freeLanesOfDeadHolder(process('gateway'), 'b', 'crashed')
    expect((await goOn('c', id)).openTurn).toMatchObject({ crashes: 1 })
  })

  test('counts at the next start on a database of its own, but not for a process that may still be leaving', async () => {
    const { id } = await begin('suspects x')
    await database().query(expireLanes, ['suspects '])
    expect(await claimTurns(process('b'), 1)).toEqual([])
    await freeLanesOfDeadHolder(process('gateway'), 'suspects x', 'ended')
    await goOn('a', id)
    await database().query(expireLanes, ['suspects '])
    expect((await goOn('b', id)).openTurn).toMatchObject({ crashes: 1 })
  })

  test('is for those who take suspects, by how often that happened; others find the lane when it is over', async () => {
    const { id } = await begin('a')
    expect(await countSuspectTurnsByCrashes(process('a'))).toEqual([])
    await vanish()
    // Found by a gateway that does not run suspects, which gives it back.
    const found = await claim('b', '{[0,1)}')
    expect(found.openTurn).toMatchObject({ crashes: 1 })
    expect(await releaseLane(process('b'), found, 0, 'untouched')).toBe(true)
    expect(await claimTurns(process('b'), 1, undefined, '{[0,1)}')).toEqual([])
    expect(await countSuspectTurnsByCrashes(process('b'))).toEqual([{ crashes: 1, turns: 1 }])
    const held = await claim('c', '{[1,2)}')
    expect(await resumeTurn(process('c'), held, id)).toBe(true)
    expect(await countSuspectTurnsByCrashes(process('b'))).toEqual([])
    // The next death makes it somebody else's before it is counted.
    await vanish()
    expect(await countSuspectTurnsByCrashes(process('b'))).toEqual([{ crashes: 2, turns: 1 }])
    expect(await claimTurns(process('b'), 1, undefined, '{[0,1),[4,)}')).toEqual([])
    const last = await claim('d', '{[2,4)}')
    expect(await resumeTurn(process('d'), last, id)).toBe(true)
    expect(await completeTurn(process('d'), last, silentEnd({ ...newTurn(id, last) }))).toBeDefined()
    await fill('c1.b')
    expect(await claimTurns(process('b'), 1, undefined, '{[0,1)}')).toHaveLength(1)
  })

  test('that is split leaves its crashes to each of its messages', async () => {
    const { id } = await begin('a')
    await vanish()
    const held = await goOn('b', id)
    expect(await splitTurn(process('b'), held, id, { delayMs: 0, code: 'interrupted' })).toBe(true)
    expect(await claimTurns(process('b'), 1, undefined, '{[0,1)}')).toEqual([])
    expect(await countSuspectTurnsByCrashes(process('b'))).toEqual([{ crashes: 1, turns: 1 }])
    const alone = await claim('c', '{[1,2)}')
    const next = randomUUID()
    expect(await openTurn(process('c'), alone, { ...newTurn(next, alone), parentTurn: id }, [])).toBe(true)
    await vanish()
    expect((await claim('d')).openTurn).toMatchObject({ id: next, crashes: 2 })
  })
})

function newTurn(id: string, held: HeldLane) {
  return {
    id,
    kind: 'messages',
    attempt: 1,
    sessionId: randomUUID(),
    isNewSession: true,
    keeping: null,
    parentTurn: null,
    continuesTurn: false,
    history: null,
    principal: 'p',
    runId: null,
    traceId: 'trace',
    deadlineMs: 60_000,
    replyTo: null,
    members: held.messages.map((row, ord) => ({ id: row.id, ord, principal: 'p', ...noAccessBasis })),
    signalId: null,
    resumes: null,
    taskId: null,
  } as const
}
