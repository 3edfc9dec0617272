// Threads for work that only computes: what one job does is felt by no other, and never by the event loop.
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import type { OffloadCall } from '../../../src/contract/channel.ts'
import { OffloadError } from '../../../src/contract/index.ts'
import { createWorkerPool, type PoolLimits, type WorkerPool } from '../../../src/node/worker-pool.ts'

const pools: WorkerPool[] = []
const logged: string[] = []
afterEach(() => {
  for (const pool of pools.splice(0)) pool.close()
  logged.length = 0
})

function open(limits: Partial<PoolLimits> = {}): WorkerPool {
  const pool = createWorkerPool(
    {
      log: {
        info() {},
        error() {},
        warn: (event, facts) => logged.push(`${event} ${facts?.action} ${facts?.outcome}`),
      },
    },
    { threads: 2, deadlineMs: 20_000, ...limits },
  )
  pools.push(pool)
  return pool
}

const module = new URL('./pool-jobs.mjs', import.meta.url)
const job = (name: string, value: unknown = {}, bytes = 0): OffloadCall => ({
  module,
  name,
  bytes,
  input: () => ({ value }),
})
const failureOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof OffloadError ? error.failure : String(error)),
  )
const ended = (pool: WorkerPool): Readonly<Record<string, number>> =>
  Object.fromEntries(pool.use().ended.map(({ job: name, outcome, count }) => [`${name} ${outcome}`, count]))

describe('a job', () => {
  test('answers what its function answers, and gets buffers without a copy', async () => {
    const pool = open()
    expect(await pool.offload(job('echo', { a: [1, new Set(['b'])] }))).toEqual({ a: [1, new Set(['b'])] })
    const bytes = new Uint8Array(1000)
    const input = () => ({ value: { bytes }, transfer: [bytes.buffer] })
    expect(await pool.offload({ module, name: 'sizeOf', input, bytes: 1000 })).toBe(1000)
    expect(bytes.byteLength).toBe(0)
    expect(ended(pool)).toEqual({ 'echo done': 1, 'sizeOf done': 1 })
  })

  test('that throws, or does not exist, rejects with what happened, and its thread goes on', async () => {
    const pool = open({ threads: 1 })
    expect(await failureOf(pool.offload(job('fail')))).toContain('no such thing')
    expect(await failureOf(pool.offload(job('overflow')))).toContain('RangeError')
    expect(await failureOf(pool.offload(job('uncloneable')))).toContain('could not be cloned')
    expect(await failureOf(pool.offload(job('absent')))).toContain('TypeError')
    expect(await pool.offload(job('echo', 1))).toBe(1)
  })

  test('sees nothing of the environment, where secrets are', async () => {
    expect(await open().offload(job('environment'))).toEqual([])
  })
})

describe('a job that does not end', () => {
  test.each(['spin', 'never'])(
    'by %s is ended with its thread at the deadline, and the loop is free meanwhile',
    async (name) => {
      const pool = open({ threads: 1, deadlineMs: 2000 })
      // The thread is there already: what it costs to start it is not what is bounded here.
      await pool.offload(job('echo'))
      let ticks = 0
      const timer = setInterval(() => (ticks += 1), 10)
      const [failure, next] = await Promise.all([
        failureOf(pool.offload(job(name))),
        failureOf(pool.offload(job('echo'))),
      ])
      clearInterval(timer)
      expect([failure, next]).toEqual(['timeout', 'done'])
      expect(ticks).toBeGreaterThan(20)
      expect(ended(pool)).toEqual({ 'echo done': 2, [`${name} timeout`]: 1 })
      expect(logged).toEqual([`offloaded_job_ended ${name} timeout`])
    },
  )
})

describe('a job that kills its thread', () => {
  test.each(['leave', 'eat', 'crashLater'])('by %s fails alone, and the thread is replaced', async (name) => {
    const pool = open({ heapMb: 32 })
    const beside = pool.offload(job('echo', 'beside'))
    expect(await failureOf(pool.offload(job(name)))).toBe('crashed')
    expect(await beside).toBe('beside')
    expect(await Promise.all([1, 2, 3].map((each) => pool.offload(job('echo', each))))).toEqual([1, 2, 3])
    expect(ended(pool)[`${name} crashed`]).toBe(1)
  })
})

describe('more jobs than threads', () => {
  test('wait up to a bound, and the next is refused at once', async () => {
    const pool = open({ threads: 2, waiting: 3, deadlineMs: 2000 })
    const stuck = [1, 2].map(() => failureOf(pool.offload(job('never'))))
    const waiting = [1, 2, 3].map(() => failureOf(pool.offload(job('echo'))))
    expect(pool.use()).toMatchObject({ running: 2, waiting: 3 })
    expect(await Promise.all([4, 5].map(() => failureOf(pool.offload(job('echo')))))).toEqual(['busy', 'busy'])
    expect(await Promise.all([...stuck, ...waiting])).toEqual(['timeout', 'timeout', 'done', 'done', 'done'])
    expect(pool.use()).toMatchObject({ running: 0, waiting: 0 })
    expect(pool.use().waitedMs).toBeGreaterThan(1000)
    expect(ended(pool)).toMatchObject({ 'echo busy': 2, 'echo done': 3, 'never timeout': 2 })
  })

  test('are refused once who asked for them has stopped waiting', async () => {
    const pool = open({ threads: 1, waitMs: 200, deadlineMs: 800 })
    const stuck = failureOf(pool.offload(job('never')))
    const late = failureOf(pool.offload(job('echo')))
    expect(await Promise.all([stuck, late])).toEqual(['timeout', 'busy'])
  })

  test('take nothing along while they wait', async () => {
    const pool = open({ threads: 1, deadlineMs: 500 })
    const stuck = failureOf(pool.offload(job('never')))
    let made = 0
    const input = () => {
      made += 1
      return { value: made }
    }
    const waiting = pool.offload({ module, name: 'echo', input, bytes: 0 })
    await sleep(50)
    expect(made).toBe(0)
    expect(await stuck).toBe('timeout')
    expect(await waiting).toBe(1)
  })

  test('leave a thread to small ones, where they are large', async () => {
    const pool = open({ threads: 2, largeBytes: 10, deadlineMs: 3000 })
    const large = [1, 2].map(() => failureOf(pool.offload(job('never', {}, 11))))
    expect(await pool.offload(job('echo', 'small', 10))).toBe('small')
    expect(pool.use()).toMatchObject({ running: 1, waiting: 1 })
    pool.close()
    expect(await Promise.all(large)).toEqual(['busy', 'busy'])
  })
})
