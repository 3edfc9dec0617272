// Waits, bounded, until the machine has room: a neighbour's work makes every request dearer, and unequally so.
import { cpus } from 'node:os'

const enoughIdle = 0.6
const lookMs = 150

/** The idle share of the machine when waiting ended; below `enoughIdle` the time ran out. */
export async function waitForQuiet(maxMs: number): Promise<number> {
  const until = performance.now() + maxMs
  for (;;) {
    const before = times()
    await new Promise((resolve) => setTimeout(resolve, lookMs))
    const after = times()
    const idle = (after.idle - before.idle) / Math.max(1, after.all - before.all)
    if (idle >= enoughIdle || performance.now() >= until) return idle
  }
}

export function wasQuiet(idle: number): boolean {
  return idle >= enoughIdle
}

function times(): { readonly idle: number; readonly all: number } {
  let idle = 0
  let all = 0
  for (const { times: each } of cpus()) {
    idle += each.idle
    all += each.user + each.nice + each.sys + each.irq + each.idle
  }
  return { idle, all }
}
