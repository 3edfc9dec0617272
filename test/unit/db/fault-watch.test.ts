// Which failures of statements are a fault of the storage, for how long, and when connections are made anew.
import { expect, test } from 'vitest'
import { toStorageError } from '../../../src/db/client.ts'
import { createStorageFaultWatch } from '../../../src/db/postgres.ts'

const start = () => {
  let now = 0
  let renewed = 0
  const watch = createStorageFaultWatch({
    monotonicMs: () => now,
    renewConnections: () => {
      renewed += 1
    },
  })
  const fail = (code: string) => watch.failed(toStorageError('settle_send', { code }))
  return {
    ...watch,
    fail,
    pass: (ms: number) => {
      now += ms
    },
    renewed: () => renewed,
  }
}

test.each(['53100', '53200', '53300', '58030', '25006'])(
  '%s is a fault at once, also between successes, and for four seconds',
  (sqlstate) => {
    const watch = start()
    watch.fail(sqlstate)
    watch.succeeded()
    watch.pass(3_999)
    expect(watch.fault()).toMatchObject({ statement: 'settle_send', sqlstate })
    watch.pass(1)
    expect(watch.fault()).toBeUndefined()
  },
)

test.each(['57014', '0A000', 'ECONNREFUSED'])('%s is a fault when it comes three times in a row', (code) => {
  const watch = start()
  for (let times = 0; times < 2; times += 1) watch.fail(code)
  expect(watch.fault()).toBeUndefined()
  watch.fail(code)
  expect(watch.fault()).toMatchObject({ sqlstate: code })
  watch.succeeded()
  expect(watch.fault()).toBeUndefined()
})

test.each(['22001', '23505', '54000'])('%s blames a row and is none', (code) => {
  const watch = start()
  for (let times = 0; times < 9; times += 1) watch.fail(code)
  expect(watch.fault()).toBeUndefined()
})

test('what a session keeps is cured by a new one, asked for once a second', () => {
  const watch = start()
  for (let times = 0; times < 5; times += 1) watch.fail('25006')
  expect(watch.renewed()).toBe(1)
  watch.pass(1_000)
  watch.fail('25006')
  expect(watch.renewed()).toBe(2)
})

test('connections are kept where a new one would not be had, or is had anyway', () => {
  const watch = start()
  for (const code of ['53300', '53100', '57P01', '08006', 'ECONNREFUSED', ''])
    for (let times = 0; times < 4; times += 1) watch.fail(code)
  expect(watch.renewed()).toBe(0)
})
