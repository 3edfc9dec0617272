// Connections with a port of their own, on the edge that stays: what a caller hands in is received like a webhook.

import type { AppDeps } from '../api/deps.ts'
import { deliverInbound } from '../api/webhook.ts'
import type { Assembled } from '../assemble.ts'
import type { IngressContext, RawRequest } from '../contract/index.ts'
import { type ListenerState, type RunningListeners, runListeners } from '../inbound/listeners.ts'
import type { GatewayConnection } from '../turns/deps.ts'

export type NodeListeners = {
  /** Resolves when every port was tried once. */
  readonly start: () => Promise<void>
  readonly signs: () => readonly ListenerState[]
  readonly stop: () => Promise<void>
}

export function createNodeListeners(
  { gateway, deps }: Pick<Assembled, 'gateway' | 'deps'>,
  rejections: AppDeps['rejections'],
): NodeListeners {
  let running: RunningListeners | undefined
  const createListenDoor = (at: GatewayConnection): IngressContext => ({
    async receive(arrival: RawRequest) {
      const answer = await deliverInbound({ gateway, rejections }, at, arrival)
      if (deps.failpoint !== undefined) await deps.failpoint('before:answer')
      return answer
    },
  })
  return {
    start() {
      running ??= runListeners({ ...deps, doorOf: createListenDoor })
      return running.tried
    },
    signs: () => running?.signs() ?? [],
    stop: async () => running?.stop(),
  }
}
