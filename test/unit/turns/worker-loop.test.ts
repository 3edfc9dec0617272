// The loop: as many at once as there are slots, nothing lost to an error, awake when rung.
import { expect, test } from 'vitest'
import {
  createAllLoopsIdleDetector,
  createWakeup,
  runWorkerLoop,
  type WorkerLoop,
} from '../../../src/turns/worker-loop.ts'

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

function pumpOf(work: number[], changes: Partial<WorkerLoop<number>> = {}): WorkerLoop<number> {
  return {
    slots: 3,
    batch: 10,
    pollMs: 1_000,
    monotonicMs: () => performance.now(),
    wakeup: createWakeup(),
    claim: async (limit) => work.splice(0, limit),
    run: async () => {},
    onError: () => {},
    isStopping: () => false,
    ...changes,
  }
}

test('the worker loop runs everything, never more at once than it has slots', async () => {
  let running = 0
  let most = 0
  const done: number[] = []
  const run = async (each: number): Promise<void> => {
    running += 1
    most = Math.max(most, running)
    await sleep(2)
    running -= 1
    done.push(each)
  }
  await runWorkerLoop(
    pumpOf(
      Array.from({ length: 20 }, (_, index) => index),
      { run, untilQuiet: createAllLoopsIdleDetector(1) },
    ),
  )
  expect({ done: done.toSorted((a, b) => a - b), most }).toEqual({
    done: Array.from({ length: 20 }, (_, index) => index),
    most: 3,
  })
})

test('the worker loop goes on after work and claims that failed', async () => {
  const errors: unknown[] = []
  let claims = 0
  const claim = async (): Promise<number[]> => {
    claims += 1
    if (claims === 1) throw new Error('database down')
    return claims === 2 ? [1] : []
  }
  const run = async (): Promise<void> => {
    throw new Error('work failed')
  }
  const isStopping = () => claims > 3
  await runWorkerLoop(pumpOf([], { claim, run, isStopping, pollMs: 1, onError: (error) => errors.push(error) }))
  expect(errors.map(String)).toEqual(['Error: database down', 'Error: work failed'])
})

test('wakes at once when rung, and by itself when nobody rings', async () => {
  const wakeup = createWakeup()
  setTimeout(() => wakeup.notify(), 10)
  // Longer than the test may take: only the ring can end it.
  await wakeup.wait(600_000)
  await wakeup.wait(10)
})

test('remembers a ring that nobody was waiting for', async () => {
  const wakeup = createWakeup()
  wakeup.notify()
  await wakeup.wait(600_000)
})

test('the worker loop ends only when what it started has ended', async () => {
  let isDone = false
  let isStopping = false
  const run = async (): Promise<void> => {
    isStopping = true
    await sleep(30)
    isDone = true
  }
  await runWorkerLoop(pumpOf([1], { run, isStopping: () => isStopping }))
  expect(isDone).toBe(true)
})

test('two loops that feed each other end together, and not before both have nothing left', async () => {
  const shared = { untilQuiet: createAllLoopsIdleDetector(2), pollMs: 5 }
  const [first, second]: [number[], number[]] = [[3], []]
  const done: string[] = []
  const feed =
    (name: string, other: number[]) =>
    async (left: number): Promise<void> => {
      await sleep(20)
      done.push(`${name} ${left}`)
      if (left > 0) other.push(left - 1)
    }
  await Promise.all([
    runWorkerLoop(pumpOf(first, { ...shared, run: feed('first', second) })),
    runWorkerLoop(pumpOf(second, { ...shared, run: feed('second', first) })),
  ])
  expect(done).toEqual(['first 3', 'second 2', 'first 1', 'second 0'])
})

test('while every slot is taken, looks for urgent work when rung for it and now and then, not at every ring', async () => {
  const wakeup = createWakeup()
  let now = 0
  let looks = 0
  let isStopping = false
  const claimUrgent = async (): Promise<number[]> => {
    looks += 1
    return []
  }
  const loop = runWorkerLoop(
    pumpOf([], { slots: 0, wakeup, claimUrgent, monotonicMs: () => now, isStopping: () => isStopping }),
  )
  const ring = async (isUrgent: boolean): Promise<number> => {
    wakeup.notify(isUrgent)
    await sleep(1)
    return looks
  }
  await sleep(1)
  expect([looks, await ring(false), await ring(false), await ring(true), await ring(false)]).toEqual([1, 1, 1, 2, 2])
  now = 1_000
  expect([await ring(false), await ring(false)]).toEqual([3, 3])
  isStopping = true
  wakeup.notify()
  await loop
})

test('urgent work that found no place is looked for again as soon as some ends', async () => {
  const urgent = [1, 2, 3, 4, 5, 6]
  const done: number[] = []
  let isStopping = false
  const run = async (each: number): Promise<void> => {
    await sleep(2)
    done.push(each)
    isStopping = done.length === 6
  }
  const claimUrgent = async (limit: number): Promise<number[]> => urgent.splice(0, limit)
  // The clock stands still: only the places that become free make it look.
  await runWorkerLoop(pumpOf([], { slots: 0, claimUrgent, run, monotonicMs: () => 0, isStopping: () => isStopping }))
  expect(done).toEqual([1, 2, 3, 4, 5, 6])
})
