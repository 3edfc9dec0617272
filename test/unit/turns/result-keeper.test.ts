// Results in hand: written until the database has answered, or until the time to stop is over.
import { expect, test } from 'vitest'
import { GatewayError } from '../../../src/lib/errors.ts'
import type { LogFields } from '../../../src/lib/log.ts'
import { createResultWriteRetrier, trackUnfinishedResultWrites } from '../../../src/turns/result-keeper.ts'

const away = (): GatewayError => new GatewayError('storage_unavailable', '[storage] away')

function keeperWithLog() {
  const logged: [string, LogFields | undefined][] = []
  const write = (event: string, facts?: LogFields) => void logged.push([event, facts])
  const log = { info: write, warn: write, error: write }
  return { keeper: createResultWriteRetrier({ log, random: () => 0.5, leaseMs: 160 }), logged }
}

test('a result is written again until the database answers, and its later tries know that they are', async () => {
  const { keeper, logged } = keeperWithLog()
  const repeats: boolean[] = []
  const stored = await keeper.store({ turn: 't1' }, async (isRepeat) => {
    repeats.push(isRepeat)
    if (repeats.length < 20) throw away()
    return 'stored'
  })
  expect(stored).toBe('stored')
  expect(repeats).toEqual([false, ...Array.from({ length: 19 }, () => true)])
  expect(logged).toEqual([['result_waits', { turn: 't1', code: 'storage_unavailable' }]])
})

test('what is no outage is thrown at once', async () => {
  const { keeper } = keeperWithLog()
  let tries = 0
  const refused = keeper.store({ turn: 't1' }, async () => {
    tries += 1
    throw new GatewayError('storage_refused_row', '[storage] refused')
  })
  await expect(refused).rejects.toMatchObject({ code: 'storage_refused_row' })
  expect(tries).toBe(1)
})

test('when the time to stop is over it says what is not stored, what hangs included, and tries no more', async () => {
  const { keeper, logged } = keeperWithLog()
  const failing = keeper.store({ turn: 't1', reason: 'step' }, async () => Promise.reject(away()))
  void keeper.store({ outbox: 'o1', reason: 'delivery' }, () => new Promise(() => {}))
  const unbegun = keeper.store(undefined, async () => Promise.reject(away()))
  await keeper.store({ turn: 't2', reason: 'turn' }, async () => 'stored')
  keeper.giveUp()
  await expect(failing).rejects.toMatchObject({ code: 'storage_unavailable' })
  await expect(unbegun).rejects.toMatchObject({ code: 'storage_unavailable' })
  expect(logged.filter(([event]) => event === 'result_given_up')).toEqual([
    ['result_given_up', { turn: 't1', reason: 'step' }],
    ['result_given_up', { outbox: 'o1', reason: 'delivery' }],
  ])
})

test('a turn waits for its results that are on their way, and for nothing that has not begun', async () => {
  const { keeper } = keeperWithLog()
  const { store, settled } = trackUnfinishedResultWrites(keeper.store)
  const order: string[] = []
  let isBack = false
  void store({ turn: 't1' }, async () => {
    if (!isBack) throw away()
    order.push('stored')
  })
  void store(undefined, () => new Promise(() => {}))
  setTimeout(() => {
    isBack = true
  }, 30)
  await settled()
  order.push('ended')
  expect(order).toEqual(['stored', 'ended'])
})
