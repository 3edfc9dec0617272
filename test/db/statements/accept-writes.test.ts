// What an arrival changes besides its own row: in its commit, once, and in the order of the arrivals.

import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { RecordWrite } from '../../../src/contract/index.ts'
import { type Database, nameStatement } from '../../../src/db/client.ts'
import { createEraseStore } from '../../../src/db/erase-person.ts'
import { storeInboxDrafts } from '../../../src/db/inbox.ts'
import type { InboxDraft } from '../../../src/db/inbox-row.ts'
import { claimSends, startSend } from '../../../src/db/outbox.ts'
import { createRecordStore } from '../../../src/db/records.ts'
import { createSweepStore } from '../../../src/db/retention.ts'
import { tablesWith } from '../../doubles/find-text-in-database.ts'
import { aDraft } from '../../doubles/inbox-drafts.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { openTenantDb } from '../../setup/tenant-db.ts'

const ada = 'https://peer.test/ada'
const calls = nameStatement(
  'test_calls',
  'select client_id as "clientId", order_key as lane, state, reason, purpose, origin from outbox order by seq',
)
const lanes = nameStatement('test_lanes', 'select order_key as lane, pending from send_lanes order by 1')
const drifted = nameStatement(
  'test_drifted',
  `select l.order_key from send_lanes l where l.pending <> (
     select count(*) from outbox o where o.order_key = l.order_key and o.settled_at is null)`,
)
const aDayLater = nameStatement('test_day_later', `update send_lanes set next_at = now() - interval '25 hours'`)

const follow = (key: string): RecordWrite => ({ kind: 'put', family: 'follower', key, value: { key }, subject: ada })
const unfollow = (key: string): RecordWrite => ({ kind: 'remove', family: 'follower', key })
const send = (clientId: string, lane = 'to:https://peer.test/inbox') => ({
  id: randomUUID(),
  call: { accept: clientId },
  orderKey: lane,
  clientId,
})

function activity(id: string, changes: Partial<InboxDraft> = {}): InboxDraft {
  const nothing = {
    kind: 'rejected_event',
    state: 'ignored',
    reason: 'follow',
    message: undefined,
    candidates: [],
    subject: ada,
  } as const
  return aDraft({ ...nothing, dedupe: id, content: '', messageId: undefined, deliveryId: id, ...changes })
}

describeOnDatabase('an arrival', (database) => {
  const accept = (...drafts: InboxDraft[]) => storeInboxDrafts(openTenantDb(database()), drafts)
  const records = () => createRecordStore(database(), { tenant: 'default', connection: 'test' })
  const followers = async () => (await records().list('follower', { limit: 10 })).map(({ key }) => key)
  const outbox = () => openTenantDb(database(), { tenant: 'default', holder: 'test', leaseMs: 60_000 })
  const sent = () => database().query<{ clientId: string; state: string; origin: string }>(calls, [])

  test('changes records with its row, and again under another id only', async () => {
    await accept(activity('f1', { recordWrites: [follow('ada')] }))
    await accept(activity('u1', { recordWrites: [unfollow('ada')] }))
    expect(await accept(activity('f1', { recordWrites: [follow('ada')] }))).toMatchObject([{ kind: 'duplicate' }])
    expect(await followers()).toEqual([])
    await accept(activity('f2', { recordWrites: [follow('ada')] }))
    expect(await followers()).toEqual(['ada'])
  })

  test('changes what another one of the same batch changed before it', async () => {
    await accept(
      activity('f1', { recordWrites: [follow('ada'), follow('bob')] }),
      activity('u1', { recordWrites: [unfollow('ada')] }),
      activity('u2', { recordWrites: [unfollow('cleo'), follow('cleo')] }),
    )
    expect(await followers()).toEqual(['bob', 'cleo'])
  })

  test('changes the same records as others at the same moment, in whatever order, without a deadlock', async () => {
    const batches = Array.from({ length: 20 }, (_, at) => {
      const effects = [follow('a'), unfollow('b'), follow('c'), unfollow('d')].map((effect, place) =>
        (at + place) % 2 === 0 ? effect : effect.kind === 'put' ? unfollow(effect.key) : follow(effect.key),
      )
      return accept(activity(`x${at}`, { recordWrites: at % 3 === 0 ? effects.toReversed() : effects }))
    })
    expect((await Promise.all(batches)).flat().every(({ kind }) => kind === 'accepted')).toBe(true)
  })

  test('that is a message changes records as well, unless it is too old to be taken', async () => {
    const old = '2026-01-01T00:00:00.000Z'
    await accept(aDraft({ messageId: 'm1', recordWrites: [follow('ada')] }))
    await accept(aDraft({ messageId: 'm2', recordWrites: [follow('old')], platformAt: old, horizonMs: 1 }))
    expect(await followers()).toEqual(['ada'])
  })

  test('is answered as its protocol wants, once for its client id, in the lane it names', async () => {
    const first = activity('f1', {
      protocolReplies: [send('accept-1'), send('accept-2', 'to:https://other.test/inbox')],
    })
    await accept(first)
    await accept(activity('f1', { protocolReplies: [send('accept-1')] }))
    await accept(activity('f2', { protocolReplies: [send('accept-1')] }))
    expect(await sent()).toMatchObject([
      { clientId: 'accept-1', state: 'queued', purpose: 'protocol', origin: first.id },
      { clientId: 'accept-2', state: 'queued', purpose: 'protocol', origin: first.id },
    ])
    expect(await database().query(lanes, [])).toEqual([
      { lane: 'to:https://other.test/inbox', pending: 1 },
      { lane: 'to:https://peer.test/inbox', pending: 1 },
    ])
    expect((await claimSends(outbox(), 10)).map(({ calls: [call] }) => call?.call).toSorted()).toHaveLength(2)
  })

  test('that wants nothing more ends what waits under its prefix and nothing else', async () => {
    await accept(
      activity('f1', {
        protocolReplies: [send('a', 'to:https://peer.test/ada'), send('b', 'to:https://peer.test/bob')],
      }),
    )
    await accept(activity('b1', { cancelPending: 'to:https://peer.test/ada' }))
    await accept(activity('b2', { cancelPending: 'to:https://peer.test/%' }))
    expect(await sent()).toMatchObject([
      { clientId: 'a', state: 'refused', reason: 'blocked' },
      { clientId: 'b', state: 'queued', reason: null },
    ])
    expect(await database().query(lanes, [])).toEqual([
      { lane: 'to:https://peer.test/ada', pending: 0 },
      { lane: 'to:https://peer.test/bob', pending: 1 },
    ])
  })

  test('that wants nothing more leaves alone what is being sent, and whoever holds the lane goes on', async () => {
    await accept(activity('f1', { protocolReplies: [send('a'), send('b')] }))
    const [lane] = await claimSends(outbox(), 10)
    const [first, second] = lane?.calls ?? []
    if (lane === undefined || first === undefined || second === undefined) throw new Error('two calls were queued')
    await startSend(outbox(), lane, first, {})
    await accept(activity('b1', { cancelPending: 'to:https://peer.test/' }))
    expect(await sent()).toMatchObject([{ state: 'sending' }, { state: 'refused' }])
    expect(await startSend(outbox(), lane, second, {})).toEqual({ kind: 'settled' })
    expect(await database().query(lanes, [])).toMatchObject([{ pending: 1 }])
  })

  test('that wants nothing more comes while others send and queue: every lane counts what is in it', async () => {
    const names = Array.from({ length: 6 }, (_, at) => `to:https://peer.test/${at}`)
    await accept(
      activity('f0', { protocolReplies: names.flatMap((lane) => [send(`${lane}#1`, lane), send(`${lane}#2`, lane)]) }),
    )
    const held = await claimSends(outbox(), 10)
    const sending = held.map(async (lane) => {
      const [call] = lane.calls
      return call === undefined ? undefined : (await startSend(outbox(), lane, call, {})).kind
    })
    const blocking = names.map((lane, at) => accept(activity(`b${at}`, { cancelPending: lane })))
    const queueing = names.toReversed().map((lane, at) => {
      const sends = [send(`${lane}#3`, lane), send(`${names[at]}#4`, names[at])]
      return accept(activity(`f${at + 1}`, { protocolReplies: sends }))
    })
    const outcomes = (await Promise.all([...blocking, ...queueing])).flat()
    expect(outcomes.every(({ kind }) => kind === 'accepted')).toBe(true)
    const kinds = ['started', 'settled', 'wait']
    expect(new Set([...(await Promise.all(sending)), ...kinds])).toEqual(new Set(kinds))
    expect(await database().query(drifted, [])).toEqual([])
    const states = new Map((await sent()).map(({ clientId, state }) => [clientId, state]))
    expect(names.map((lane) => states.get(`${lane}#2`))).toEqual(names.map(() => 'refused'))
  })

  test('that somebody is forgotten with leaves neither its records nor its answers nor its lane', async () => {
    await accept(
      activity(`${ada}#f1`, {
        recordWrites: [follow(ada)],
        protocolReplies: [send(`${ada}#accept`, `to:${ada}/inbox`)],
      }),
    )
    const store = createEraseStore(database(), 'default')
    expect(await store.eraseReceipts([ada], null)).toMatchObject({ removed: { receipts: 1, calls: 1, unsent: 1 } })
    await store.eraseWritten([ada])
    expect(await sent()).toMatchObject([{ state: 'cancelled', reason: 'forgotten' }])
    await database().query(aDayLater, [])
    await createSweepStore(database(), 'default').sweep({
      contentDays: 90,
      refusedHours: 24,
      receiptDays: 120,
      auditDays: 400,
      batch: 10,
    })
    expect(await tablesWith(database() as Database, ada)).toEqual([])
  })
})
