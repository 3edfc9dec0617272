// Jobs of this process that are computed in threads: how many run and wait, and how they ended. In metrics.
import type { OffloadFailure } from '../contract/index.ts'
import type { MetricFamily } from './exposition.ts'

export type JobOutcome = 'done' | 'failed' | OffloadFailure

export type JobUse = {
  readonly running: number
  readonly waiting: number
  /** Since the start, of all jobs together. */
  readonly waitedMs: number
  readonly ended: readonly { readonly job: string; readonly outcome: JobOutcome; readonly count: number }[]
}

export function jobMetrics({ running, waiting, waitedMs, ended }: JobUse): readonly MetricFamily[] {
  return [
    {
      name: 'parley_thread_jobs',
      help: 'Jobs that are computed in threads, such as proofs of mail, by state.',
      type: 'gauge',
      samples: [
        { labels: { state: 'running' }, value: running },
        { labels: { state: 'waiting' }, value: waiting },
      ],
    },
    {
      name: 'parley_thread_jobs_waited_seconds_total',
      help: 'Time that jobs waited for a thread.',
      type: 'counter',
      samples: [{ labels: {}, value: Math.round(waitedMs) / 1000 }],
    },
    {
      name: 'parley_thread_jobs_ended_total',
      help: 'Jobs by what became of them; busy: refused before it began, timeout and crashed: its thread was ended.',
      type: 'counter',
      samples: ended.map(({ job, outcome, count }) => ({ labels: { job, outcome }, value: count })),
    },
  ]
}
