// An answer that was sent back is told as what it is, until it is sent once more and stays.
import { expect, test } from 'vitest'
import { emailReasons } from '../../../adapters/email/reasons.ts'
import { reasonText } from '../../../src/api/explain/reason-texts.ts'
import { bounceReason } from '../../../src/api/explain/timeline.ts'
import type { DeliveryEvent, DeliveryFacts } from '../../../src/db/explain.ts'

const at = '2026-11-17T09:30:00.000Z'
const delivered = { at, what: 'delivered', attempt: 1 }
const bounced = (kind: 'failed' | 'delayed', reason = '5.1.1') => ({ at, what: 'bounced', attempt: 1, kind, reason })
const resent = { at, what: 'resent_by_operator', attempt: 1 }

function call(history: readonly DeliveryEvent[], isPrimary = true): DeliveryFacts {
  const nothing = { turnId: null, reason: null, vendorId: null, notBefore: null, sendingAt: null, settledAt: at }
  const facts = { id: 'o1', purpose: 'reply', ordinal: 0, state: 'delivered', attempt: 1, isMaybeRepeat: false }
  return { ...nothing, ...facts, isPrimary, createdAt: at, history }
}

test.each<readonly [string, readonly DeliveryFacts[], string | undefined]>([
  ['nothing was said of it', [call([delivered])], undefined],
  ['it came back', [call([delivered, bounced('failed')])], '5.1.1'],
  ['it is late', [call([delivered, bounced('delayed')])], undefined],
  ['one part of two came back', [call([delivered, bounced('failed', '5.2.2')]), call([delivered])], '5.2.2'],
  ['what came along with it came back', [call([delivered]), call([delivered, bounced('failed')], false)], undefined],
  ['it is being sent once more', [call([delivered, bounced('failed'), resent])], '5.1.1'],
  ['it was sent once more and stayed', [call([delivered, bounced('failed'), resent, delivered])], undefined],
])('%s', (_, deliveries, reason) => expect(bounceReason({ deliveries })).toBe(reason))

test.each([
  ['5.2.2', 'the mailbox there takes nothing now (5.2.2)'],
  ['4.7.28', 'the server there does not want it (4.7.28)'],
  ['5.9.9', '5.9.9'],
  ['bounced', 'the server that sent it back said nothing that could be read (bounced)'],
])('the code %s has words for it', (code, words) => expect(reasonText(code, emailReasons)).toBe(words))

test('a code of one channel is not explained by another', () => {
  expect(reasonText('5.2.2', {})).toBe('5.2.2')
  expect(reasonText('5.2.2', { '5.2': 'its mailbox is full' })).toBe('its mailbox is full (5.2.2)')
})
