// Freezes processes for longer than their lease: from outside at a chosen moment, or where a failpoint stops them.

import { delay } from './crash-test.ts'
import type { GatewayProcess } from './gateway-process.ts'
import type { Freeze } from './stale-effects.ts'

export type Freezer = {
  readonly freezes: readonly Freeze[]
  /** SIGSTOP now, SIGCONT when the lease is over. */
  readonly freeze: (gateway: GatewayProcess) => Promise<void>
  /** Thaws a process that stops itself, each time; ends when its plan is used up or `isOver`. */
  readonly thawEach: (gateway: GatewayProcess, times: number, isOver: () => boolean) => Promise<number>
}

export function createFreezer(leaseMs: number): Freezer {
  const freezes: Freeze[] = []
  const thaw = async (gateway: GatewayProcess): Promise<void> => {
    const from = Date.now()
    await delay(leaseMs * 1.7)
    freezes.push({ pid: gateway.pid, from, to: Date.now() })
    gateway.signal('SIGCONT')
  }
  return {
    freezes,
    async freeze(gateway) {
      gateway.signal('SIGSTOP')
      await thaw(gateway)
    },
    async thawEach(gateway, times, isOver) {
      let thawed = 0
      while (thawed < times && gateway.isRunning()) {
        if (gateway.count('failpoint', (line) => line['action'] === 'stop') > thawed) {
          await thaw(gateway)
          thawed += 1
        } else if (isOver()) break
        else await delay(20)
      }
      return thawed
    },
  }
}
