// The turn queue's conformance kit: claims are exclusive, leases expire, a stale epoch writes nothing.

import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { type Db, nameStatement } from '../../../src/db/client.ts'
import { storeInboxDrafts } from '../../../src/db/inbox.ts'
import { createJournalStore } from '../../../src/db/journal.ts'
import { createDatabaseGapTracker } from '../../../src/db/lease-takeover.ts'
import { type FullSlots, type HeldLane, type NewTurn, noAccessBasis } from '../../../src/db/turn-rows.ts'
import {
  claimTurns,
  completeTurn,
  openTurn,
  recountLanePending,
  releaseLane,
  renewLanes,
  resumeTurn,
  splitTurn,
} from '../../../src/db/turns.ts'
import { aDraft } from '../../doubles/inbox-drafts.ts'
import { silentEnd } from '../../doubles/turn-result.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { openTenantDb } from '../../setup/tenant-db.ts'

const lane = nameStatement(
  'test_lane',
  'select pending, holder, epoch::float8 as epoch, turn_id is not null as open from lanes',
)
const expire = nameStatement('test_expire', "update lanes set lease_until = now() - interval '1 second'")
const states = nameStatement('test_states', 'select state, runs_alone as "runsAlone", attempts from inbox order by seq')
const histories = nameStatement('test_histories', 'select attempt, history from turns order by started_at')

describeOnDatabase('the turn queue', (database) => {
  const workerA = () => openTenantDb(database(), { holder: 'a', leaseMs: 60_000, tenant: 'default' })
  const workerB = () => openTenantDb(database(), { holder: 'b', leaseMs: 60_000, tenant: 'default' })
  const fill = (...ids: string[]) =>
    storeInboxDrafts(
      openTenantDb(database()),
      ids.map((messageId) => aDraft({ messageId, candidates: [messageId.split('.')[0] ?? ''] })),
    )
  const claimOne = async (db: Db): Promise<HeldLane> => {
    const [held] = await claimTurns(db, 1)
    if (held === undefined) throw new Error('nothing to claim')
    return held
  }
  const open = async (db: Db, held: HeldLane): Promise<NewTurn> => {
    const turn = newTurn(held)
    expect(await openTurn(db, held, turn, [])).toBe(true)
    return turn
  }

  test('gives a lane to one worker at a time, with its messages in order', async () => {
    await fill('c1.a', 'c1.b', 'c2.a')
    const held = await claimTurns(workerA(), 10)
    expect(held.map((each) => each.messages.map((row) => row.messageId)).toSorted()).toEqual([
      ['c1.a', 'c1.b'],
      ['c2.a'],
    ])
    expect(await claimTurns(workerB(), 10)).toEqual([])
  })

  test('shares many lanes among workers that ask at the same time, none twice', async () => {
    await fill(...Array.from({ length: 60 }, (_, index) => `c${index}.a`))
    const claims = await Promise.all(
      Array.from({ length: 12 }, (_, index) => claimTurns(index % 2 === 0 ? workerA() : workerB(), 10)),
    )
    const ids = claims.flat().map((each) => each.conversationId)
    expect(ids).toHaveLength(60)
    expect(new Set(ids).size).toBe(60)
  })

  test('hands an expired lane with its open turn to the next worker, under a higher epoch', async () => {
    await fill('c1.a')
    const first = await claimOne(workerA())
    const turn = await open(workerA(), first)
    await database().query(expire, [])
    const second = await claimOne(workerB())
    expect(second.epoch).toBeGreaterThan(first.epoch)
    expect(second.openTurn).toMatchObject({ id: turn.id, attempt: 1 })
    expect(second.messages.map((row) => row.messageId)).toEqual(['c1.a'])
  })

  test('puts a turn that was left behind at the end, once, and gives it out in its turn', async () => {
    await fill('c1.a')
    const left = await claimOne(workerA())
    await open(workerA(), left)
    await database().query(
      nameStatement('test_expire_now', "update lanes set lease_until = now() - interval '1 ms'"),
      [],
    )
    await fill('c2.a')
    await fill('c3.a')
    const claimed = [await claimOne(workerB()), await claimOne(workerB()), await claimOne(workerB())]
    expect(claimed.map((held) => held.messages[0]?.messageId)).toEqual(['c2.a', 'c3.a', 'c1.a'])
    expect(claimed[2]?.openTurn).toMatchObject({ attempt: 1, isHung: false })
  })

  test('looks past agents and connections that hold all the slots they may, but not past commands for the gateway', async () => {
    const draft = (messageId: string, connection: string, agent: string, isControl = false) =>
      aDraft({ messageId, connection, agent, candidates: [messageId], isControl })
    await storeInboxDrafts(openTenantDb(database()), [
      draft('xa', 'c/x', 'a'),
      draft('xb', 'c/x', 'b'),
      draft('ya', 'c/y', 'a'),
      draft('yb', 'c/y', 'b'),
      draft('stop', 'c/x', 'a', true),
    ])
    const nobody = { agents: [], connections: [], pairs: [] }
    const claimedBeside = async (full: Partial<FullSlots>) => {
      const held = await claimTurns(workerA(), 10, { ...nobody, ...full })
      for (const each of held) await releaseLane(workerA(), each, 0, 'untouched')
      return held.map(({ messages }) => messages[0]?.messageId).toSorted()
    }
    expect(await claimedBeside({ pairs: ['c/x a'] })).toEqual(['stop', 'xb', 'ya', 'yb'])
    expect(await claimedBeside({ agents: ['a'] })).toEqual(['stop', 'xb', 'yb'])
    expect(await claimedBeside({ connections: ['c/x'] })).toEqual(['stop', 'ya', 'yb'])
    expect(await claimedBeside({ agents: ['a'], connections: ['c/x'] })).toEqual(['stop', 'yb'])
    expect(await claimedBeside({})).toEqual(['stop', 'xa', 'xb', 'ya', 'yb'])
  })

  test('leaves expired lanes alone while the database was away from a worker, and gives it free ones', async () => {
    await fill('c1.a')
    const held = await claimOne(workerA())
    await database().query(expire, [])
    await fill('c2.a')
    const takeOver = createDatabaseGapTracker({ leaseMs: 60_000, pollMs: 1_000 })
    const cutOff = openTenantDb(database(), { holder: 'b', leaseMs: 60_000, tenant: 'default', takeOver })
    // It last heard from the database a minute ago, by the database's own time: its claim may have been frozen since.
    takeOver.seen(Date.now() - 60_000)
    expect((await claimTurns(cutOff, 10)).map((each) => each.messages[0]?.messageId)).toEqual(['c2.a'])
    expect(await renewLanes(workerA(), [held])).toEqual(new Set([held.conversationId]))
    await database().query(expire, [])
    const steady = createDatabaseGapTracker({ leaseMs: 60_000, pollMs: 1_000 })
    steady.seen(Date.now())
    const other = openTenantDb(database(), { holder: 'c', leaseMs: 60_000, tenant: 'default', takeOver: steady })
    expect(await claimTurns(other, 10)).toHaveLength(2)
  })

  test('lets a worker that lost its lane write nothing at all', async () => {
    await fill('c1.a')
    const first = await claimOne(workerA())
    const turn = await open(workerA(), first)
    await database().query(expire, [])
    await claimOne(workerB())
    expect(await completeTurn(workerA(), first, silentEnd(turn))).toBeUndefined()
    expect(await releaseLane(workerA(), first, 0, 'failed')).toBe(false)
    expect(await splitTurn(workerA(), first, turn.id, { delayMs: 0, code: 'agent_failed' })).toBe(false)
    expect(await resumeTurn(workerA(), first, turn.id)).toBe(false)
    expect(await renewLanes(workerA(), [first])).toEqual(new Set())
    expect(await database().query(states, [])).toMatchObject([{ state: 'in_turn' }])
    const journal = createJournalStore(openTenantDb(database(), { holder: 'a' }))
    const address = {
      conversationId: first.conversationId,
      epoch: first.epoch,
      turnId: turn.id,
      journalTurn: turn.id,
      step: 's',
    }
    expect(await journal.begin(address, { isIdempotent: true, label: 's' })).toEqual({ kind: 'lease_lost' })
    expect(await journal.finish(address, { state: 'finished', result: 1 })).toBe(false)
  })

  test('completes a turn once; doing it again changes nothing and is told it is done', async () => {
    await fill('c1.a')
    const held = await claimOne(workerA())
    const turn = await open(workerA(), held)
    expect(await completeTurn(workerA(), held, silentEnd(turn))).toBeDefined()
    expect(await completeTurn(workerA(), held, silentEnd(turn))).toBeDefined()
    expect(await database().query(lane, [])).toEqual([{ pending: 0, holder: null, epoch: held.epoch, open: false }])
  })

  test('is told that its successor, not itself, ended the turn', async () => {
    await fill('c1.a')
    const late = await claimOne(workerA())
    const turn = await open(workerA(), late)
    await database().query(nameStatement('test_expire', "update lanes set lease_until = now() - interval '1 s'"), [])
    const next = await claimOne(workerB())
    expect(await resumeTurn(workerB(), next, turn.id)).toBe(true)
    expect(await completeTurn(workerB(), next, silentEnd(turn))).toBeDefined()
    expect(await completeTurn(workerA(), late, silentEnd(turn))).toBeUndefined()
  })

  test('keeps what arrives during a turn waiting for the next one', async () => {
    await fill('c1.a')
    const held = await claimOne(workerA())
    const turn = await open(workerA(), held)
    await fill('c1.b')
    await completeTurn(workerA(), held, silentEnd(turn))
    expect((await claimOne(workerB())).messages.map((row) => row.messageId)).toEqual(['c1.b'])
  })

  test('splits a turn into messages that run alone, in their old order', async () => {
    await fill('c1.a', 'c1.b')
    const held = await claimOne(workerA())
    const turn = await open(workerA(), held)
    expect(await splitTurn(workerA(), held, turn.id, { delayMs: 0, code: 'agent_failed' })).toBe(true)
    const next = await claimOne(workerA())
    expect(next.messages.map((row) => [row.messageId, row.runsAlone, row.parentTurn])).toEqual([
      ['c1.a', true, turn.id],
      ['c1.b', true, turn.id],
    ])
  })

  test('remembers what happened to a turn, the last twenty things at most', async () => {
    await fill('c1.a')
    const store = workerA()
    let held = await claimOne(store)
    const turn = await open(store, held)
    await releaseLane(store, held, 0, 'failed', 'agent_failed')
    held = await claimOne(store)
    await resumeTurn(store, held, turn.id)
    await completeTurn(store, held, silentEnd(turn))
    expect(await database().query(histories, [])).toMatchObject([
      {
        history: [
          { what: 'failed', attempt: 1, code: 'agent_failed', retryInMs: 0, at: expect.stringMatching(/Z$/) },
          { what: 'resumed', attempt: 2 },
          { what: 'silent', attempt: 2 },
        ],
      },
    ])
    await fill('c2.a')
    const long = await open(store, await claimOne(store).then((lane) => (held = lane)))
    for (let times = 0; times < 15; times += 1) {
      await releaseLane(store, held, 0, 'outage', 'provider_unavailable')
      held = await claimOne(store)
      await resumeTurn(store, held, long.id)
    }
    const [, row] = await database().query<{ history: readonly { what: string }[] }>(histories, [])
    expect(row?.history).toHaveLength(20)
    expect(row?.history.at(-1)).toMatchObject({ what: 'resumed' })
  })

  test('a worker that cannot run an open turn gives its lane back without a mark on the turn', async () => {
    await fill('c1.a')
    const first = await claimOne(workerA())
    await open(workerA(), first)
    await database().query(expire, [])
    const second = await claimOne(workerB())
    expect(await releaseLane(workerB(), second, 0, 'stopping')).toBe(true)
    // Only the end of the first one stands there.
    expect(await database().query(histories, [])).toMatchObject([{ attempt: 1, history: [{ what: 'crashed' }] }])
  })

  test('does not claim a lane that is paused or taken over by a person', async () => {
    await fill('c1.a')
    await database().query(nameStatement('test_pause', "update lanes set mode = 'operator'"), [])
    expect(await claimTurns(workerA(), 10)).toEqual([])
  })

  test('repairs a lane that counts rows it does not have, and one that misses some', async () => {
    await fill('c1.a')
    await database().query(nameStatement('test_drift', 'update lanes set pending = 5'), [])
    const held = await claimOne(workerA())
    expect(await recountLanePending(workerA(), held)).toBe(true)
    expect(await database().query(lane, [])).toMatchObject([{ pending: 1, holder: null }])
  })

  test('remembers a finished step, and knows one that was interrupted or failed', async () => {
    await fill('c1.a')
    const held = await claimOne(workerA())
    const turn = await open(workerA(), held)
    const journal = createJournalStore(openTenantDb(database(), { holder: 'a' }))
    const at = (step: string) => ({
      conversationId: held.conversationId,
      epoch: held.epoch,
      turnId: turn.id,
      journalTurn: turn.id,
      step,
    })
    const once = { isIdempotent: false, label: 'order tea' }
    const again = { isIdempotent: true, label: 'order tea' }
    expect(await journal.begin(at('one'), once)).toEqual({ kind: 'run' })
    expect(await journal.finish(at('one'), { state: 'finished', result: { n: 1 } })).toBe(true)
    expect(await journal.begin(at('one'), again)).toEqual({ kind: 'finished', result: { n: 1 } })
    await journal.begin(at('two'), once)
    // The same holder asks again only where the answer to its first question went missing: nothing ran since.
    expect(await journal.begin(at('two'), once)).toEqual({ kind: 'run' })
    await database().query(nameStatement('test_older', "update journal set epoch = epoch - 1 where step = 'two'"), [])
    expect(await journal.begin(at('two'), once)).toEqual({ kind: 'unknown', error: null })
    expect(await journal.begin(at('two'), again)).toEqual({ kind: 'run' })
    await journal.finish(at('two'), { state: 'failed', error: 'Error' })
    expect(await journal.begin(at('two'), once)).toEqual({ kind: 'unknown', error: 'Error' })
    expect(await journal.begin(at('two'), again)).toEqual({ kind: 'run' })
    await journal.finish(at('two'), { state: 'undone', error: 'Error' })
    expect(await journal.begin(at('two'), once)).toEqual({ kind: 'run' })
    expect(await journal.record(at('look'), { state: 'finished', result: 'seen' }, 3)).toBe(true)
    expect(await journal.past(turn.id)).toMatchObject({
      journalTurn: turn.id,
      steps: expect.arrayContaining([
        { step: 'one', label: 'order tea', isEffect: true, state: 'finished', result: { n: 1 }, error: null },
        { step: 'look', label: null, isEffect: false, state: 'finished', result: 'seen', error: null },
      ]),
    })
  })
})

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
      accessRule: 'public',
    })),
    signalId: null,
    resumes: null,
    taskId: null,
  }
}
