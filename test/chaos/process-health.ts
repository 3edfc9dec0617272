// How a process is while it is in trouble: its readiness, asked for again and again, and what it holds in memory.
import { readFileSync } from 'node:fs'
import { delay, eventually } from './crash-test.ts'
import type { GatewayProcess } from './gateway-process.ts'

/** One look at /readyz: when it was asked and answered, by the monotonic clock. No status: no answer. */
export type Look = { readonly askedAt: number; readonly answeredAt: number; readonly status: number | undefined }

export type VitalSigns = {
  readonly looks: readonly Look[]
  /** How long we and the process were kept from a processor between two moments; zero where the system does not tell. */
  readonly starvedMs: (from: number, to: number) => number
  readonly stop: () => Promise<void>
}

const everyMs = 100
const waitEveryMs = 50
const patienceMs = 20_000

export function watchVitalSigns(gateway: GatewayProcess): VitalSigns {
  const looks: Look[] = []
  let isOver = false
  const watch = async (): Promise<void> => {
    while (!isOver) {
      const askedAt = performance.now()
      const status = await statusOf(`${gateway.url}/readyz`)
      looks.push({ askedAt, answeredAt: performance.now(), status })
      await delay(everyMs)
    }
  }
  const watching = watch()
  const waits: { readonly at: number; readonly ms: number }[] = []
  const clock = setInterval(() => {
    waits.push({ at: performance.now(), ms: waitedMs(process.pid) + waitedMs(gateway.pid) })
  }, waitEveryMs)
  return {
    looks,
    starvedMs(from, to) {
      const first = waits.findLast(({ at }) => at <= from) ?? waits[0]
      const last = waits.find(({ at }) => at >= to) ?? waits.at(-1)
      return (last?.ms ?? 0) - (first?.ms ?? 0)
    },
    async stop() {
      isOver = true
      clearInterval(clock)
      await watching
    },
  }
}

/** What the process holds on to, after its garbage was collected, in megabytes. */
export async function memoryInUse(gateway: GatewayProcess): Promise<number> {
  const before = gateway.count('memory')
  gateway.command('memory')
  await eventually(() => gateway.count('memory') > before, patienceMs, 10)
  return Number(gateway.lines.findLast((line) => line.event === 'memory')?.['megabytes'])
}

async function statusOf(url: string): Promise<number | undefined> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(patienceMs) })
    await response.arrayBuffer()
    return response.status
  } catch {
    return undefined
  }
}

/** Linux counts for the main thread, in nanoseconds: time on a processor, and time it was ready and had to wait for one. */
function waitedMs(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6
  } catch {
    return 0
  }
}
