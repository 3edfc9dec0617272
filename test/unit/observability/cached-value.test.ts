// One reading for many askers, and a map with a bound.
import { describe, expect, test } from 'vitest'
import { cachePromise, LruMap } from '../../../src/lib/cache.ts'
import { withDatabaseTimeout } from '../../../src/observability/database-timeout.ts'

function counting(load: (count: number) => Promise<number>) {
  const state = { now: 0, loads: 0 }
  const read = cachePromise(
    1_000,
    () => state.now,
    () => {
      state.loads += 1
      return load(state.loads)
    },
  )
  return { state, read }
}

test('a cached value is shared while it is fresh, and read again afterwards', async () => {
  const { state, read } = counting(async (count) => count)
  expect(await Promise.all([read(), read(), read()])).toEqual([1, 1, 1])
  state.now = 999
  expect(await read()).toBe(1)
  state.now = 1_000
  expect(await read()).toBe(2)
})

test('shares a failure, and tries again afterwards', async () => {
  const { state, read } = counting(async (count) => {
    if (count === 1) throw new Error('down')
    return count
  })
  await expect(Promise.all([read(), read()])).rejects.toThrow('down')
  state.now = 1_000
  expect(await read()).toBe(2)
})

test('a cached value does not pile readings up behind one that is under way', async () => {
  let finish: (value: number) => void = () => {}
  const { state, read } = counting((count) =>
    count === 1 ? new Promise((resolve) => (finish = resolve)) : Promise.resolve(count),
  )
  const first = read()
  state.now = 60_000
  const second = read()
  expect(state.loads).toBe(1)
  finish(7)
  expect(await Promise.all([first, second])).toEqual([7, 7])
  expect(await read()).toBe(2)
})

test('a reading that hangs ends with a reason', async () => {
  await expect(withDatabaseTimeout(10, new Promise<never>(() => {}))).rejects.toMatchObject({
    code: 'storage_unavailable',
  })
})

describe('a map with a bound', () => {
  test('the entry that was neither read nor written for longest makes room', () => {
    const map = new LruMap<string, number>(2)
    map.set('a', 1).set('b', 2)
    expect(map.get('a')).toBe(1)
    map.set('c', 3)
    expect([...map]).toEqual([
      ['a', 1],
      ['c', 3],
    ])
  })

  test('a key that is written again takes no room, and one that is missing is not made by asking', () => {
    const map = new LruMap<string, number>(2)
    map.set('a', 1).set('b', 2).set('a', 3)
    expect(map.get('x')).toBeUndefined()
    expect([...map.keys()]).toEqual(['b', 'a'])
  })
})
