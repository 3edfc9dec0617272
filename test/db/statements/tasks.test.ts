// Tasks in rows: asked for with their message, gone on with by their owner alone, over once, watched from any number.

import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { TaskState } from '../../../src/contract/index.ts'
import { type Database, nameStatement } from '../../../src/db/client.ts'
import { storeInboxDrafts } from '../../../src/db/inbox.ts'
import type { DraftTask } from '../../../src/db/inbox-row.ts'
import { createTaskStore } from '../../../src/db/tasks.ts'
import type { HeldLane, NewTurn } from '../../../src/db/turn-rows.ts'
import { claimTurns, completeTurn, openTurn } from '../../../src/db/turns.ts'
import { createSeal } from '../../../src/gateway/seal.ts'
import { aDraft } from '../../doubles/inbox-drafts.ts'
import { silentEnd } from '../../doubles/turn-result.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { openTenantDb } from '../../setup/tenant-db.ts'

const alice = 'test:alice'
const claim = (known: string | null = null): DraftTask => ({ known, contextId: 'c1', dialect: '1.0', metadata: {} })
const said = (text: string) => ({
  thread_id: 'c1',
  in_reply_to: 'm1',
  agent: 'demo',
  status: 'completed' as const,
  parts: [{ kind: 'text' as const, mime: 'text/plain' as const, content: text }],
})
const lanes = nameStatement('test_lanes', 'select pending from lanes')
const inboxStates = nameStatement('test_states', 'select state, reason from inbox order by seq')
const calls = nameStatement('test_calls', "select call from outbox where purpose = 'push' order by seq")
const sendLanes = nameStatement('test_send_lanes', 'select order_key as "orderKey", pending from send_lanes')

const storeOf = (database: Database) =>
  createTaskStore(database, {
    tenant: 'default',
    connection: 'test',
    seal: createSeal(async () => [new Uint8Array(32).fill(7)]),
  })

describeOnDatabase('tasks', (database) => {
  const tasks = () => storeOf(database())
  const turns = () => openTenantDb(database(), { holder: 'a', leaseMs: 60_000, tenant: 'default' })
  const ask = async (messageId: string, task: DraftTask = claim(), subject = alice, content = messageId) => {
    const draft = aDraft({ messageId, dedupe: `${subject} ${messageId}`, content, subject, task, candidates: ['c1'] })
    const [outcome] = await storeInboxDrafts(openTenantDb(database()), [draft])
    return outcome
  }
  const newTask = async (messageId = 'm1', subject = alice): Promise<string> => {
    const outcome = await ask(messageId, claim(), subject)
    if (outcome?.kind !== 'accepted') throw new Error(`not accepted: ${outcome?.kind}`)
    return outcome.inboxId
  }
  const openNext = async (): Promise<{ readonly lane: HeldLane; readonly turn: NewTurn }> => {
    const [lane] = await claimTurns(turns(), 1)
    const row = lane?.messages[0]
    if (lane === undefined || row === undefined) throw new Error('nothing waits')
    const turn = turnFor(lane, row.id, row.taskId)
    expect(await openTurn(turns(), lane, turn, [])).toBe(true)
    return { lane, turn }
  }
  const answer = async (state: TaskState, text: string): Promise<void> => {
    const { lane, turn } = await openNext()
    const response = said(text)
    const event = { type: 'done', response, task_state: state }
    const end = { state: 'answered', leadState: 'answered', leadReason: null, taskState: state, response } as const
    await completeTurn(turns(), lane, silentEnd(turn, { ...end, events: [{ key: `${turn.id}:0`, event }] }))
  }

  test('are submitted with their message, work with its turn, and end with its answer', async () => {
    const id = await newTask()
    expect(await tasks().find(id, alice)).toMatchObject({ id, contextId: 'c1', state: 'submitted', agent: 'demo' })
    expect(await tasks().ofMessage(id)).toBe(id)
    const { lane, turn } = await openNext()
    expect((await tasks().find(id, alice))?.state).toBe('working')
    const response = said('done')
    const event = { type: 'done', response, task_state: 'completed' }
    const end = {
      state: 'answered',
      leadState: 'answered',
      leadReason: null,
      taskState: 'completed',
      response,
    } as const
    await completeTurn(turns(), lane, silentEnd(turn, { ...end, events: [{ key: 'k', event }] }))
    expect(await tasks().find(id, alice)).toMatchObject({ state: 'completed', said: response })
    const news = await tasks().news(id, { order: -1, seq: -1 }, 10)
    expect(news?.lines.map(({ order, seq, event: { type } }) => [order, seq, type])).toEqual([
      [0, 0, 'started'],
      [0, 1, 'done'],
    ])
    expect((await tasks().news(id, { order: 0, seq: 0 }, 10))?.lines).toHaveLength(1)
  })

  test('are asked for once, however often the message comes', async () => {
    const id = await newTask()
    expect(await ask('m1')).toEqual({ kind: 'duplicate', inboxId: id, flagged: false })
    expect(await ask('m1', claim(), alice, 'something else')).toEqual({ kind: 'shut', reason: 'id_taken' })
    expect((await ask('m1', claim(), 'test:bob'))?.kind).toBe('accepted')
    expect((await tasks().list({ limit: 10 }, alice)).total).toBe(1)
  })

  test('go on with another message of their owner, and of nobody else', async () => {
    const id = await newTask()
    await answer('input_required', 'which one?')
    expect(await ask('m2', claim(id), 'test:bob')).toEqual({ kind: 'shut', reason: 'task_unknown' })
    expect(await ask('m2', claim(randomUUID()))).toEqual({ kind: 'shut', reason: 'task_unknown' })
    expect((await ask('m3', claim(id)))?.kind).toBe('accepted')
    expect((await tasks().find(id, alice))?.state).toBe('submitted')
    await answer('completed', 'that one')
    expect((await tasks().find(id, alice))?.state).toBe('completed')
    expect(await ask('m4', claim(id))).toEqual({ kind: 'shut', reason: 'task_over' })
    const dossier = await tasks().dossier(id, alice)
    expect(dossier?.lines.filter(({ event }) => event['type'] === 'done').map(({ order }) => order)).toEqual([0, 1])
  })

  test('are not over while a message of theirs waits', async () => {
    const id = await newTask()
    const { lane, turn } = await openNext()
    expect((await ask('m2', claim(id)))?.kind).toBe('accepted')
    await completeTurn(
      turns(),
      lane,
      silentEnd(turn, { taskState: 'completed', leadState: 'answered', state: 'answered' }),
    )
    expect((await tasks().find(id, alice))?.state).toBe('submitted')
    await answer('completed', 'both')
    expect((await tasks().find(id, alice))?.state).toBe('completed')
  })

  test('are rejected with a message that is refused', async () => {
    const id = await newTask()
    const [lane] = await claimTurns(turns(), 1)
    if (lane === undefined) throw new Error('nothing waits')
    const ground = { accessRule: null, subject: null, evidence: null }
    const refusal = { ...ground, id, state: 'refused', reason: 'blocked', tombstone: false, pairingId: null } as const
    await openTurn(turns(), lane, null, [refusal])
    expect((await tasks().find(id, alice))?.state).toBe('rejected')
  })

  test('are cancelled by their owner while they wait, and leave nothing in the lane', async () => {
    const id = await newTask()
    expect(await tasks().cancel(id, 'test:bob')).toBeUndefined()
    expect(await tasks().cancel(id, alice)).toBe('cancelled')
    expect(await tasks().cancel(id, alice)).toBe('over')
    expect(await database().query(inboxStates, [])).toEqual([{ state: 'refused', reason: 'task_cancelled' }])
    expect(await database().query(lanes, [])).toEqual([{ pending: 0 }])
    expect((await tasks().find(id, alice))?.state).toBe('cancelled')
  })

  test('stay cancelled whatever their run comes to', async () => {
    const id = await newTask()
    const { lane, turn } = await openNext()
    expect(await tasks().cancel(id, alice)).toBe('cancelled')
    await completeTurn(
      turns(),
      lane,
      silentEnd(turn, { taskState: 'completed', leadState: 'answered', state: 'answered' }),
    )
    expect((await tasks().find(id, alice))?.state).toBe('cancelled')
  })

  test('are listed newest first, each on one page, whatever changes between pages', async () => {
    const ids = []
    for (let index = 0; index < 7; index += 1) ids.push(await newTask(`m${index}`))
    const first = await tasks().list({ limit: 3 }, alice)
    expect([first.total, first.hasMore, first.tasks.length]).toEqual([7, true, 3])
    const last = first.tasks.at(-1)
    if (last === undefined) throw new Error('an empty page')
    await tasks().cancel(last.id, alice)
    const second = await tasks().list({ limit: 10, after: { stateAt: last.stateAt, id: last.id } }, alice)
    const seen = [...first.tasks, ...second.tasks].map((task) => task.id)
    expect(seen.toSorted()).toEqual(ids.toSorted())
    expect((await tasks().list({ limit: 10, state: 'cancelled' }, alice)).tasks.map((task) => task.id)).toEqual([
      last.id,
    ])
    expect((await tasks().list({ limit: 10 }, 'test:bob')).total).toBe(0)
  })

  test('tell where they were asked to, in order, with what proves us sealed', async () => {
    const id = await newTask()
    const config = { taskId: id, id: 'p1', url: 'https://hooks.example/a', token: 'canary-token', scheme: 'Bearer' }
    const push = { ...config, credentials: 'canary-secret', dialect: '1.0' }
    expect(await tasks().savePush(push, 'test:bob', { limit: 2, isInline: false })).toBeUndefined()
    expect(await tasks().savePush(push, alice, { limit: 2, isInline: false })).toBe('saved')
    expect(await tasks().findPush(id, 'p1', alice)).toEqual(push)
    expect(await tasks().savePush({ ...push, id: 'p2' }, alice, { limit: 2, isInline: false })).toBe('saved')
    expect(await tasks().savePush({ ...push, id: 'p3' }, alice, { limit: 2, isInline: false })).toBe('full')
    expect(await tasks().removePush(id, 'p2', alice)).toBe(true)
    await answer('completed', 'here')
    const told = await database().query<{ call: { push: { state: string } } }>(calls, [])
    expect(told.map(({ call }) => call.push.state)).toEqual(['working', 'completed'])
    expect(JSON.stringify(told)).not.toContain('canary')
    expect(await database().query(sendLanes, [])).toEqual([{ orderKey: `push:${id}:p1`, pending: 2 }])
    expect(await tasks().receiver(id, 'p1')).toEqual(push)
    await tasks().disablePush(id, 'p1')
    expect(await tasks().receiver(id, 'p1')).toBeUndefined()
  })

  test('belong to whoever asked for them, and so do the names of their conversations', async () => {
    await newTask()
    expect(await tasks().isForeignContext('demo', 'c1', alice)).toBe(false)
    expect(await tasks().isForeignContext('demo', 'c1', 'test:bob')).toBe(true)
    expect(await tasks().isForeignContext('demo', 'c2', 'test:bob')).toBe(false)
  })
})

function turnFor(lane: HeldLane, inboxId: string, taskId: string | null): NewTurn {
  const ground = { accessRule: null, subject: null, evidence: null }
  return {
    id: randomUUID(),
    kind: 'messages',
    attempt: 1,
    sessionId: lane.sessionId ?? randomUUID(),
    keeping: null,
    isNewSession: lane.sessionId === null,
    parentTurn: null,
    continuesTurn: false,
    history: null,
    principal: alice,
    runId: null,
    traceId: 'trace',
    deadlineMs: 60_000,
    replyTo: null,
    signalId: null,
    resumes: null,
    taskId,
    members: [{ ...ground, id: inboxId, ord: 0, principal: alice }],
  }
}
