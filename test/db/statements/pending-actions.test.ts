// Pending actions: decided once, by who may, about what was shown; and the paused run is woken by the same statement.

import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { nameStatement } from '../../../src/db/client.ts'
import {
  countActionsByStatus,
  findPendingActions,
  getPendingAction,
  listPendingActions,
  loadPendingAction,
  type Resolver,
  resolvePendingAction,
} from '../../../src/db/pending-actions.ts'
import { fireDueTimers } from '../../../src/db/transcripts.ts'
import { anAction, owner, pauseTurn, tenant, type Wake, wakes } from '../../doubles/paused-turn.ts'
import { describeOnDatabase } from '../../setup/describe-on-database.ts'
import { openTenantDb } from '../../setup/tenant-db.ts'

const all = { tenant, owner: null, conversationId: null }
const operator: Resolver = { name: 'operator:night shift', isOperator: true, scope: all }
const alice: Resolver = { name: owner, isOperator: false, scope: { ...all, owner } }
const bob: Resolver = { name: 'test:bob', isOperator: false, scope: all }
const chatOperator: Resolver = { name: 'test:olga', isOperator: true, isInChat: true, role: 'operator', scope: all }
const accepted = { status: 'accepted' } as const
const rejected = { status: 'rejected' } as const

const overdue = nameStatement('test_overdue', `update pending_actions set expires_at = now() - interval '1 s'`)
const due = nameStatement('test_due', `update timers set due_at = now() - interval '1 s'`)

describeOnDatabase('pending actions', (database) => {
  const store = () => openTenantDb(database())
  const woken = () => database().query<Wake>(wakes, [])

  test('are shown without what would be executed', async () => {
    const action = anAction()
    await pauseTurn(database(), { actions: [action] })
    const line = await getPendingAction(store(), all, action.id)
    expect(line).toMatchObject({
      action_id: action.id,
      status: 'pending',
      summary: 'pay 12 EUR',
      preview: { amount: 12 },
      creator: owner,
      hash: action.actionHash,
      resolvers: 'anyone',
      expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    })
    expect(
      JSON.stringify([line, await listPendingActions(store(), all, { status: null, limit: 10, before: null })]),
    ).not.toContain('canary')
  })

  test('that are decided wake their conversation once, with whom and where it is for', async () => {
    const action = anAction()
    const { turnId } = await pauseTurn(database(), { actions: [action] })
    const resolution = await resolvePendingAction(store(), action.id, { ...accepted, reason: 'fine' }, bob)
    expect(resolution).toMatchObject({
      kind: 'resolved',
      isDuplicate: false,
      action: { status: 'accepted', resolver: 'test:bob', resolution_metadata: { reason: 'fine' } },
    })
    expect(await woken()).toEqual([
      {
        id: action.id,
        kind: 'approval',
        name: 'accepted',
        origin: turnId,
        payload: { id: action.id, principal: owner, turn: turnId, reply_to: { conversation: 'here' } },
        pending: 1,
      },
    ])
  })

  test('are decided once, however many try at the same time', async () => {
    const action = anAction()
    await pauseTurn(database(), { actions: [action] })
    const people = Array.from({ length: 12 }, (_, index) => ({ ...bob, name: `test:p${index}` }))
    const tries = people.map((person, index) =>
      resolvePendingAction(store(), action.id, index % 2 ? accepted : rejected, person),
    )
    const resolutions = await Promise.all(tries)
    expect(resolutions.filter((each) => each.kind === 'resolved')).toHaveLength(1)
    const refused = resolutions.filter((each) => each.kind === 'refused').map((each) => each.reason)
    expect(new Set(refused)).toEqual(new Set(['already_resolved']))
    expect(await woken()).toHaveLength(1)
  })

  test('decided again alike by the same person are told as before, and nothing happens', async () => {
    const action = anAction()
    await pauseTurn(database(), { actions: [action] })
    await resolvePendingAction(store(), action.id, accepted, alice)
    expect(await resolvePendingAction(store(), action.id, accepted, alice)).toMatchObject({
      kind: 'resolved',
      isDuplicate: true,
    })
    expect(await resolvePendingAction(store(), action.id, rejected, alice)).toMatchObject({
      reason: 'already_resolved',
    })
    expect(await woken()).toHaveLength(1)
  })

  test('are bound to what was shown', async () => {
    const action = anAction()
    await pauseTurn(database(), { actions: [action] })
    const other = await resolvePendingAction(store(), action.id, { ...accepted, hash: 'sha256:other' }, alice)
    expect(other).toMatchObject({ kind: 'refused', reason: 'changed' })
    expect(await woken()).toEqual([])
    expect(
      await resolvePendingAction(store(), action.id, { ...accepted, hash: action.actionHash }, alice),
    ).toMatchObject({
      kind: 'resolved',
    })
    expect(await loadPendingAction(store(), tenant, action.id)).toMatchObject({
      decidedHash: action.actionHash,
      isInTime: true,
    })
  })

  test.each([
    ['anyone', alice, undefined],
    ['other', alice, 'not_allowed'],
    ['other', bob, undefined],
    ['other', operator, undefined],
    ['operator', alice, 'not_allowed'],
    ['operator', bob, 'not_allowed'],
    ['operator', operator, undefined],
    ['requester', alice, undefined],
    ['requester', bob, 'not_allowed'],
    ['requester', chatOperator, undefined],
    ['requester', operator, undefined],
    [{ principals: ['test:bob', 'test:carol'] }, bob, undefined],
    [{ principals: ['test:carol'] }, bob, 'not_allowed'],
    [{ principals: ['test:carol'] }, alice, 'not_allowed'],
    // In a chat the terms hold for an operator too; on the operator's own routes they do not.
    [{ principals: ['test:carol'] }, chatOperator, 'not_allowed'],
    [{ principals: ['test:carol'] }, operator, undefined],
    [{ role: 'operator' }, chatOperator, undefined],
    [{ role: 'operator' }, { ...bob, role: 'admin' }, undefined],
    [{ role: 'operator' }, { ...bob, role: 'viewer' }, 'not_allowed'],
    [{ role: 'operator' }, bob, 'not_allowed'],
    [{ assurance: 'platform' }, { ...bob, assurance: 'oauth' }, undefined],
    [{ assurance: 'platform' }, { ...bob, assurance: 'platform' }, undefined],
    [{ assurance: 'platform' }, { ...bob, assurance: 'address' }, 'not_allowed'],
    [{ assurance: 'platform' }, { ...bob, assurance: 'made up' }, 'not_allowed'],
    [{ assurance: 'platform' }, bob, 'not_allowed'],
    [{ requester: false }, bob, undefined],
    [{ requester: false }, alice, 'not_allowed'],
    [{ requester: true }, bob, 'not_allowed'],
    // All of what is said has to hold.
    [{ requester: false, role: 'viewer' }, { ...alice, role: 'admin' }, 'not_allowed'],
    [{ requester: true, assurance: 'platform' }, { ...alice, assurance: 'platform' }, undefined],
  ] as const)('for %o to decide: %o', async (resolvers, resolver, reason) => {
    const action = anAction({ resolvers: typeof resolvers === 'string' ? resolvers : JSON.stringify(resolvers) })
    await pauseTurn(database(), { actions: [action] })
    const resolution = await resolvePendingAction(store(), action.id, accepted, resolver)
    expect(resolution).toMatchObject(reason === undefined ? { kind: 'resolved' } : { kind: 'refused', reason })
  })

  test('that somebody was named to decide about are there for them, to decide and not to take back', async () => {
    const action = anAction({ owner: 'test:carol', resolvers: JSON.stringify({ principals: [owner] }) })
    await pauseTurn(database(), { actions: [action] })
    expect(await listPendingActions(store(), alice.scope, { status: null, limit: 10, before: null })).toHaveLength(1)
    expect(await resolvePendingAction(store(), action.id, { status: 'deleted' }, alice)).toMatchObject({
      reason: 'not_allowed',
    })
    expect(await resolvePendingAction(store(), action.id, accepted, alice)).toMatchObject({ kind: 'resolved' })
  })

  test('of somebody else are not there for a person', async () => {
    const action = anAction({ owner: 'test:carol' })
    await pauseTurn(database(), { actions: [action] })
    expect(await getPendingAction(store(), alice.scope, action.id)).toBeUndefined()
    expect(await listPendingActions(store(), alice.scope, { status: null, limit: 10, before: null })).toEqual([])
    expect(await countActionsByStatus(store(), alice.scope)).toMatchObject({ pending: 0 })
    expect(await resolvePendingAction(store(), action.id, accepted, alice)).toMatchObject({ reason: 'not_found' })
    expect(await resolvePendingAction(store(), randomUUID(), accepted, operator)).toMatchObject({ reason: 'not_found' })
  })

  test('whose time is up are refused at once and expire by their timer, which wakes the run', async () => {
    const action = anAction()
    await pauseTurn(database(), { actions: [action] })
    await database().query(overdue, [])
    expect(await resolvePendingAction(store(), action.id, accepted, alice)).toMatchObject({
      kind: 'refused',
      reason: 'expired',
    })
    await database().query(due, [])
    await fireDueTimers(openTenantDb(database(), 'default'), 10)
    expect(await getPendingAction(store(), all, action.id)).toMatchObject({ status: 'expired', resolver: null })
    expect(await resolvePendingAction(store(), action.id, accepted, alice)).toMatchObject({
      kind: 'refused',
      reason: 'expired',
    })
    expect(await woken()).toMatchObject([{ kind: 'approval_expiry', payload: { id: action.id } }])
  })

  test('decided in time do not expire, whenever their timer fires', async () => {
    const action = anAction()
    await pauseTurn(database(), { actions: [action] })
    await resolvePendingAction(store(), action.id, accepted, alice)
    await database().query(due, [])
    await fireDueTimers(openTenantDb(database(), 'default'), 10)
    expect(await getPendingAction(store(), all, action.id)).toMatchObject({ status: 'accepted' })
    expect(await woken()).toMatchObject([{ kind: 'approval' }])
  })

  test('that are withdrawn are over, and the run is told', async () => {
    const action = anAction({ resolvers: 'operator' })
    await pauseTurn(database(), { actions: [action] })
    expect(await resolvePendingAction(store(), action.id, { status: 'deleted' }, alice)).toMatchObject({
      kind: 'resolved',
    })
    expect(await woken()).toMatchObject([{ kind: 'approval', name: 'deleted' }])
  })

  test('are found by the end of their id among those that wait in a conversation, and listed page by page', async () => {
    const waiting = [anAction(), anAction()]
    const { conversationId } = await pauseTurn(database(), { actions: waiting })
    await pauseTurn(database(), { actions: [anAction()] })
    const here = { ...all, conversationId }
    const code = waiting[0]?.id.slice(-6) ?? ''
    expect(await findPendingActions(store(), here, { code, origin: '' })).toMatchObject([{ action_id: waiting[0]?.id }])
    expect(await findPendingActions(store(), here, { code: null, origin: '' })).toHaveLength(2)
    const first = await listPendingActions(store(), all, { status: 'pending', limit: 2, before: null })
    const rest = await listPendingActions(store(), all, {
      status: 'pending',
      limit: 2,
      before: first.at(-1)?.action_id ?? null,
    })
    expect(new Set([...first, ...rest].map((line) => line.action_id)).size).toBe(3)
    expect(await countActionsByStatus(store(), all)).toEqual({
      pending: 3,
      accepted: 0,
      rejected: 0,
      expired: 0,
      deleted: 0,
    })
  })
})
