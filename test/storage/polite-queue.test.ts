// The embedded engine works in the gateway's own thread: it must let the others have their turn.
import { expect, test } from 'vitest'
import { statement } from '../../src/storage/database.ts'
import { createPoliteQueue } from '../../src/storage/polite-queue.ts'
import { describeOnEachDatabase } from '../setup/each-database.ts'

const busy = statement('test_busy', 'select sum(n) from generate_series(1, 20000) n')

describeOnEachDatabase('a long queue of statements', (database) => {
  test('leaves room for timers and requests', async () => {
    let rings = 0
    const clock = setInterval(() => {
      rings += 1
    }, 1)
    await Promise.all(Array.from({ length: 60 }, () => database().query(busy, [])))
    clearInterval(clock)
    expect(rings).toBeGreaterThan(3)
  })
})

test('work that fails does not keep the next one from its turn', async () => {
  const queue = createPoliteQueue(
    async () => {},
    () => 0,
  )
  const failing = queue(() => Promise.reject(new Error('broken')))
  const next = queue(async () => 'done')
  await expect(failing).rejects.toThrow('broken')
  expect(await next).toBe('done')
})

test('pauses only when it has been busy for long', async () => {
  let now = 0
  let pauses = 0
  const pause = async (): Promise<void> => {
    pauses += 1
  }
  const queue = createPoliteQueue(pause, () => now)
  const work = (ms: number): Promise<void> =>
    queue(async () => {
      now += ms
    })
  await Promise.all([work(4), work(4), work(4), work(4), work(4), work(4)])
  expect(pauses).toBe(1)
})
