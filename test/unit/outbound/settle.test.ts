// What an outcome means for its row, by capability. Pure, so every combination can be listed.
import { expect, test } from 'vitest'
import type { Capabilities, DeliveryResult } from '../../../src/contract/index.ts'
import type { OpenCall } from '../../../src/db/outbox.ts'
import {
  backoffMs,
  type SettlePolicy,
  settleAsQuestionDecided,
  settleByLookup,
  settleOutcome,
  settleOutcomeEdit,
} from '../../../src/outbound/settle.ts'

const policy: SettlePolicy = {
  backoff: { firstMs: 100, maxMs: 1_000 },
  giveUpAfterMs: 10_000,
  unknownPauseMs: 50,
  reconcileAfterMs: 500,
  reconcileForMs: 5_000,
  retryUnknown: 'never',
}
const call = (changes: Partial<OpenCall> = {}) => ({ attempt: 1, ageMs: 0, maybeRepeat: false, ...changes }) as OpenCall
const can = (idempotentSend: Capabilities['idempotentSend']) => ({ idempotentSend }) as Capabilities
const settle = (
  outcome: DeliveryResult,
  sends: Capabilities['idempotentSend'] = 'none',
  changes: Partial<OpenCall> = {},
  over: Partial<SettlePolicy> = {},
) => settleOutcome(call(changes), outcome, can(sends), { ...policy, ...over }, () => 1)
const unknown = { kind: 'unknown', reason: 'timeout' } as const

test.each([
  [
    'delivered ends there',
    settle({ kind: 'delivered', vendorId: 'v1' }),
    { state: 'delivered', isFinal: true, vendorId: 'v1', cancelLater: false },
  ],
  [
    'refused ends there and takes later parts along',
    settle({ kind: 'refused', reason: 'blocked' }),
    { state: 'refused', isFinal: true, cancelLater: true, inboxReason: 'delivery_refused' },
  ],
  [
    'retry comes back after a doubled delay',
    settle({ kind: 'retry', reason: 'net' }),
    { state: 'retry', isFinal: false, retryInMs: 200, pause: null },
  ],
  [
    'retry honours what the vendor asks for, and pauses the place',
    settle({ kind: 'retry', reason: '429', afterMs: 7_000 }),
    { retryInMs: 7_000, pause: { scope: 'conversation', ms: 7_000 } },
  ],
  [
    'retry may pause the whole connection',
    settle({ kind: 'retry', reason: '429', afterMs: 5, scope: 'connection' }),
    { pause: { scope: 'connection', ms: 5 } },
  ],
  [
    'retry ends when its time is over',
    settle({ kind: 'retry', reason: 'net' }, 'none', { ageMs: 20_000 }),
    { state: 'dead', isFinal: true, reason: 'gave_up:net' },
  ],
  ['unknown with a client id is sent again', settle(unknown, 'client-id'), { state: 'retry', isFinal: false }],
  ['unknown edit is made again', settle(unknown, 'edit'), { state: 'retry', isFinal: false }],
  [
    'unknown with a lookup waits for stragglers first',
    settle(unknown, 'lookup'),
    { state: 'unknown', isFinal: false, retryInMs: 500 },
  ],
  [
    'unknown without any way is shown, not repeated',
    settle(unknown),
    { state: 'unknown', isFinal: true, inboxReason: 'delivery_unknown', retryInMs: 50, cancelLater: false },
  ],
  [
    'unknown may be repeated once where the operator says so',
    settle(unknown, 'none', {}, { retryUnknown: 'once' }),
    { state: 'retry', maybeRepeat: true },
  ],
  [
    'and not a second time',
    settle(unknown, 'none', { maybeRepeat: true }, { retryUnknown: 'once' }),
    { state: 'unknown', isFinal: true },
  ],
])('%s', (_claim, settlement, expected) => {
  expect(settlement).toMatchObject(expected)
})

test.each([
  ['found', { kind: 'found', vendorId: 'v1' } as const, 0, { state: 'delivered', isFinal: true, vendorId: 'v1' }],
  ['absent', { kind: 'absent' } as const, 0, { state: 'retry', isFinal: false, retryInMs: 0 }],
  ['undecided for now', { kind: 'undecided', reason: 'down' } as const, 0, { state: 'unknown', isFinal: false }],
  [
    'undecided for too long',
    { kind: 'undecided', reason: 'down' } as const,
    9_000,
    { state: 'unknown', isFinal: true },
  ],
])('a lookup that is %s settles the call', (_name, found, ageMs, expected) => {
  expect(settleByLookup(call({ ageMs }), found, policy, () => 1)).toMatchObject(expected)
})

test('backoff doubles, stays under its cap, and spreads', () => {
  const delays = [1, 2, 3, 4, 5, 50].map((attempt) => backoffMs(attempt, policy.backoff, () => 1))
  expect(delays).toEqual([100, 200, 400, 800, 1_000, 1_000])
  expect(backoffMs(3, policy.backoff, () => 0)).toBe(200)
})

test('a withdrawn question takes nothing else along, and blames no message', () => {
  expect(settleAsQuestionDecided(call())).toMatchObject({
    state: 'cancelled',
    isFinal: true,
    reason: 'question_decided',
    cancelLater: false,
    inboxReason: null,
  })
})

test.each([
  ['shown', settle({ kind: 'delivered', vendorId: 'v1' }), { isFinal: true, reason: 'outcome_shown', vendorId: 'v1' }],
  ['refused', settle({ kind: 'refused', reason: 'gone' }), { isFinal: true, reason: 'outcome_not_shown' }],
  ['unknown in the end', settle(unknown), { isFinal: true, reason: 'outcome_not_shown', retryInMs: 0 }],
])('a question that has arrived is delivered, whether its outcome is %s', (_name, settlement, expected) => {
  const delivered = { state: 'delivered', cancelLater: false, inboxReason: null }
  expect(settleOutcomeEdit(settlement)).toMatchObject({ ...delivered, ...expected })
})

test('an outcome that cannot be shown yet is tried again', () => {
  expect(settleOutcomeEdit(settle({ kind: 'retry', reason: 'net' }))).toMatchObject({ state: 'retry', isFinal: false })
})
