// The pump behind drain(): claims work while slots are free, runs it side by side, sleeps until somebody rings.

/** Wakes sleepers in this process. Correctness never depends on it: every sleeper also wakes by itself. */
export type Bell = { readonly ring: () => void; readonly wait: (ms: number) => Promise<void> }

export function createBell(): Bell {
  let sleepers: (() => void)[] = []
  let isRung = false
  return {
    ring() {
      isRung = true
      const woken = sleepers
      sleepers = []
      for (const wake of woken) wake()
    },
    wait(ms) {
      if (isRung) {
        isRung = false
        return Promise.resolve()
      }
      return new Promise((resolve) => {
        const wake = (): void => {
          clearTimeout(timer)
          isRung = false
          resolve()
        }
        const timer = setTimeout(() => {
          sleepers = sleepers.filter((other) => other !== wake)
          resolve()
        }, ms)
        sleepers.push(wake)
      })
    },
  }
}

export type Pump<Work> = {
  readonly slots: number
  readonly batch: number
  readonly pollMs: number
  readonly bell: Bell
  readonly claim: (limit: number) => Promise<readonly Work[]>
  readonly run: (work: Work) => Promise<void>
  readonly onError: (error: unknown) => void
  readonly isStopping: () => boolean
  /** Return as soon as nothing is left, instead of waiting for more. */
  readonly untilIdle: boolean
}

/** Resolves when told to stop, or when idle if asked to; everything it started has ended by then. */
export async function runPump<Work>(pump: Pump<Work>): Promise<void> {
  const running = new Set<Promise<void>>()
  const start = (work: Work): void => {
    const task = pump
      .run(work)
      .catch(pump.onError)
      .finally(() => {
        running.delete(task)
        // A finished lane may have more waiting, and its slot is free.
        pump.bell.ring()
      })
    running.add(task)
  }
  while (!pump.isStopping()) {
    const free = Math.min(pump.batch, pump.slots - running.size)
    const claimed = free > 0 ? await claimSafely(pump, free) : []
    for (const work of claimed) start(work)
    if (claimed.length > 0 && claimed.length === free) continue
    if (pump.untilIdle && claimed.length === 0 && running.size === 0) return
    await pump.bell.wait(pump.pollMs)
  }
  await Promise.all(running)
}

async function claimSafely<Work>(pump: Pump<Work>, limit: number): Promise<readonly Work[]> {
  try {
    return await pump.claim(limit)
  } catch (error) {
    pump.onError(error)
    return []
  }
}
