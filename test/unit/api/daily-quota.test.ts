// What a transport is told where nothing more is taken from senders who are not admitted, or there is no room.
import { expect, test } from 'vitest'
import { errorCodeAnswer, webhookAnswer } from '../../../src/api/http-answers.ts'

test('a share of the day that is spent is 429 until it is over, and a disk that runs out 503', () => {
  const spent = { kind: 'spent', isUnproven: true, trace: 't' } as const
  const day = webhookAnswer({ ...spent, reason: 'strangers_spent', retryAfterSeconds: 3600 })
  expect(day).toMatchObject({ status: 429, headers: { 'retry-after': '3600' } })
  expect(day.body).toContain('"strangers_spent"')
  const disk = webhookAnswer({ ...spent, reason: 'disk_low', retryAfterSeconds: 600 })
  expect(disk).toMatchObject({ status: 503, headers: { 'retry-after': '600' } })
})

test('a file that there is no room for is 507, and may be sent again', () => {
  expect(errorCodeAnswer('storage_full', 'the disk is nearly full; free some')).toMatchObject({
    status: 507,
    headers: { 'retry-after': '600' },
  })
})
