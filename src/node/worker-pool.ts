// A pool of threads for work that only computes (`Offload` in contract/channel.ts): a few of them, each with one job at a time, a
// hard deadline and a bounded memory. A job that does not end, or kills its thread, takes nothing with it but itself.
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { Offload, OffloadCall, OffloadFailure } from '../contract/channel.ts'
import { OffloadError } from '../contract/index.ts'
import type { Log } from '../lib/log.ts'
import type { JobOutcome, JobUse } from '../observability/process-metrics.ts'

export type PoolLimits = {
  readonly threads: number
  /** Jobs that may wait for a thread; the next is refused. */
  readonly waiting: number
  /** What has waited longer is refused: who asked for it has stopped waiting. */
  readonly waitMs: number
  /** Of one job in its thread. Then the thread is ended. */
  readonly deadlineMs: number
  /** Above it a job is large, and all large ones together leave one thread free. */
  readonly largeBytes: number
  /** A thread without work is ended after this. */
  readonly idleMs: number
  /** Of the heap of one thread; buffers are not part of it. */
  readonly heapMb: number
}

const usualLimits: PoolLimits = {
  // Two at least: one of them may be stuck until its deadline.
  threads: Math.max(2, Math.min(4, availableParallelism())),
  waiting: 256,
  waitMs: 10_000,
  deadlineMs: 8_000,
  largeBytes: 1024 * 1024,
  idleMs: 60_000,
  heapMb: 256,
}

export type WorkerPool = {
  readonly offload: Offload
  readonly use: () => JobUse
  /** What runs or waits is refused, as busy. */
  readonly close: () => void
}

type Job = {
  readonly call: OffloadCall
  readonly queuedAt: number
  readonly settle: { readonly resolve: (value: unknown) => void; readonly reject: (error: Error) => void }
}
type Slot = { worker: Worker | undefined; job: Job | undefined; timer: ReturnType<typeof setTimeout> | undefined }
type Reply = { readonly value: unknown } | { readonly error: string }

// As text: one and the same for the sources and for the bundle. A module is loaded once and keeps its state.
const source = `
const { parentPort } = require('node:worker_threads')
parentPort.on('message', async ({ module, name, input }) => {
  try {
    const value = await (await import(module))[name](input)
    parentPort.postMessage({ value })
  } catch (error) {
    parentPort.postMessage({ error: String(error && error.stack || error) })
  }
})`

export function createWorkerPool({ log }: { readonly log: Log }, given: Partial<PoolLimits> = {}): WorkerPool {
  const limits = { ...usualLimits, ...given }
  const slots: Slot[] = Array.from({ length: limits.threads }, () => ({
    worker: undefined,
    job: undefined,
    timer: undefined,
  }))
  const waiting: Job[] = []
  const ended = new Map<string, { job: string; outcome: JobOutcome; count: number }>()
  let waitedMs = 0
  let isClosed = false

  const countEndedJob = ({ call }: Job, outcome: JobOutcome): void => {
    const key = `${call.name} ${outcome}`
    const counted = ended.get(key) ?? { job: call.name, outcome, count: 0 }
    counted.count += 1
    ended.set(key, counted)
  }
  const rejectFailedJob = (job: Job, failure: OffloadFailure, cause?: unknown): void => {
    countEndedJob(job, failure)
    if (failure !== 'busy') log.warn('offloaded_job_ended', { action: job.call.name, outcome: failure })
    job.settle.reject(new OffloadError(failure, cause))
  }
  const isLargeJob = ({ call }: Job): boolean => call.bytes > limits.largeBytes
  const mayStartJob = (job: Job): boolean =>
    !isLargeJob(job) ||
    slots.filter((each) => each.job !== undefined && isLargeJob(each.job)).length < limits.threads - 1

  /** The thread is of no more use: whatever it still says counts for nothing. */
  const dropThread = (slot: Slot): void => {
    clearTimeout(slot.timer)
    const { worker } = slot
    Object.assign(slot, { worker: undefined, job: undefined, timer: undefined })
    worker?.removeAllListeners()
    // It may still fail while it ends.
    worker?.on('error', () => {})
    void worker?.terminate()
  }
  const failJob = (slot: Slot, failure: OffloadFailure, cause?: unknown): void => {
    const { job } = slot
    dropThread(slot)
    if (job !== undefined) rejectFailedJob(job, failure, cause)
    dispatchJobs()
  }
  const finishJob = (slot: Slot, reply: Reply): void => {
    const { job, worker } = slot
    if (job === undefined) return
    clearTimeout(slot.timer)
    slot.job = undefined
    worker?.unref()
    slot.timer = setTimeout(() => dropThread(slot), limits.idleMs).unref()
    if ('value' in reply) {
      countEndedJob(job, 'done')
      job.settle.resolve(reply.value)
    } else {
      countEndedJob(job, 'failed')
      job.settle.reject(new Error(reply.error))
    }
    dispatchJobs()
  }
  const openThread = (slot: Slot): Worker => {
    const worker = new Worker(source, {
      eval: true,
      // Nothing of the environment: no secret is needed to compute, and what strangers send is read there.
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: limits.heapMb, maxYoungGenerationSizeMb: 32 },
    })
    worker.on('message', (reply: Reply) => finishJob(slot, reply))
    worker.on('messageerror', (error) => failJob(slot, 'crashed', error))
    worker.on('error', (error) => failJob(slot, 'crashed', error))
    worker.on('exit', () => failJob(slot, 'crashed'))
    return worker
  }
  const beginJob = (slot: Slot, job: Job): void => {
    const { module, name, input } = job.call
    clearTimeout(slot.timer)
    slot.job = job
    slot.timer = setTimeout(() => failJob(slot, 'timeout'), limits.deadlineMs)
    try {
      slot.worker ??= openThread(slot)
      slot.worker.ref()
      const { value, transfer = [] } = input()
      slot.worker.postMessage({ module: module.href, name, input: value }, transfer)
    } catch (error) {
      failJob(slot, 'crashed', error)
    }
  }
  function dispatchJobs(): void {
    for (const slot of slots) {
      if (slot.job !== undefined) continue
      const at = waiting.findIndex(mayStartJob)
      const [job] = at === -1 ? [] : waiting.splice(at, 1)
      if (job === undefined) return
      const waited = performance.now() - job.queuedAt
      waitedMs += waited
      if (waited > limits.waitMs) {
        rejectFailedJob(job, 'busy')
        dispatchJobs()
        return
      }
      beginJob(slot, job)
    }
  }

  return {
    offload: (call) =>
      new Promise((resolve, reject) => {
        const job: Job = { call, queuedAt: performance.now(), settle: { resolve, reject } }
        if (isClosed || waiting.length >= limits.waiting) {
          rejectFailedJob(job, 'busy')
          return
        }
        waiting.push(job)
        dispatchJobs()
      }),
    use: () => ({
      running: slots.filter(({ job }) => job !== undefined).length,
      waiting: waiting.length,
      waitedMs,
      ended: [...ended.values()],
    }),
    close() {
      isClosed = true
      for (const job of waiting.splice(0)) rejectFailedJob(job, 'busy')
      for (const slot of slots) {
        const { job } = slot
        dropThread(slot)
        if (job !== undefined) rejectFailedJob(job, 'busy')
      }
    },
  }
}
