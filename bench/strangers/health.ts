// How long /healthz takes while something else goes on.
import { fileURLToPath } from 'node:url'
import { Worker } from 'node:worker_threads'
import type { Program } from './program.ts'

/** One question. `starvedMs`: for how long of it the asker and the gateway had no processor, because others had it. */
export type Look = { readonly ms: number; readonly starvedMs: number; readonly isAnswered: boolean }

export type HealthWatch = {
  /** What came since the last call. */
  readonly take: () => readonly Look[]
  /** How many came in all. */
  readonly count: () => number
  readonly stop: () => Promise<void>
}

const everyMs = 20
const patienceMs = 60_000

export function watchHealth({ url, pid }: Pick<Program, 'url' | 'pid'>): HealthWatch {
  let looks: Look[] = []
  let count = 0
  const worker = new Worker(fileURLToPath(new URL('./bench-health.js', import.meta.url)), {
    workerData: { url: `${url}/healthz`, pid, everyMs, patienceMs },
  })
  worker.on('message', (look: Look) => {
    count += 1
    looks.push(look)
  })
  return {
    take() {
      const taken = looks
      looks = []
      return taken
    },
    count: () => count,
    stop: async () => void (await worker.terminate()),
  }
}

/** The slowest answer, without the time in which there was no processor for it; one that never came counts as its patience. */
export function slowestMs(looks: readonly Look[]): number {
  return Math.max(
    0,
    ...looks.map(({ ms, starvedMs, isAnswered }) => (isAnswered ? Math.max(0, ms - starvedMs) : patienceMs)),
  )
}
