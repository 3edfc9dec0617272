// The count of hops: only whoever shares the secret can say it, and only of the mail it was said of.
import { expect, test } from 'vitest'
import { signHopHeader, verifyHopHeader } from '../../../../../adapters/email/loop-prevention.ts'
import { createWebHmac } from '../../../../../src/lib/index.ts'

const hmac = createWebHmac()

test('EM-130: a hop is read by whoever shares the secret', async () => {
  const value = await signHopHeader(hmac, 'shared', 3, 'm1@agents.example')
  expect(await verifyHopHeader(hmac, 'shared', value, 'm1@agents.example')).toBe(3)
})

test.each([
  ['another secret', 'other', 'm1@agents.example', (value: string) => value],
  ['another mail', 'shared', 'm2@agents.example', (value: string) => value],
  ['another count', 'shared', 'm1@agents.example', (value: string) => value.replace('3', '1')],
  ['no count', 'shared', 'm1@agents.example', (value: string) => value.replace('3', '0')],
  ['nothing', 'shared', 'm1@agents.example', () => ''],
])('EM-130: with %s there is no hop', async (_, secret, id, change) => {
  const value = await signHopHeader(hmac, 'shared', 3, 'm1@agents.example')
  expect(await verifyHopHeader(hmac, secret, change(value), id)).toBeUndefined()
})
