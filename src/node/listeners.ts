// Connections with a port of their own, on the edge that stays: what a caller hands in is received like a webhook.
import type { Assembled } from '../assemble.ts'
import type { ListenDoor, RawArrival } from '../contract/index.ts'
import type { GatewayConnection } from '../gateway/deps.ts'
import { type ListenerSign, type RunningListeners, runListeners } from '../gateway/listeners/run-listeners.ts'
import type { AppDeps } from '../http/deps.ts'
import { handIn } from '../http/hand-in.ts'

export type NodeListeners = {
  /** Resolves when every port was tried once. */
  readonly start: () => Promise<void>
  readonly signs: () => readonly ListenerSign[]
  readonly stop: () => Promise<void>
}

export function createNodeListeners(
  { gateway, deps }: Pick<Assembled, 'gateway' | 'deps'>,
  rejections: AppDeps['rejections'],
): NodeListeners {
  let running: RunningListeners | undefined
  const doorOf = (at: GatewayConnection): ListenDoor => ({
    async receive(arrival: RawArrival) {
      const answer = await handIn({ gateway, rejections }, at, arrival)
      if (deps.failpoint !== undefined) await deps.failpoint('before:answer')
      return answer
    },
  })
  return {
    start() {
      running ??= runListeners({ ...deps, doorOf })
      return running.tried
    },
    signs: () => running?.signs() ?? [],
    stop: async () => running?.stop(),
  }
}
