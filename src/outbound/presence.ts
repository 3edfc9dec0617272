// Sends presence (typing, reactions, status) that a platform can show; no turn waits for it, and a failure is ignored.

import type { PresenceDetails, PresenceUpdate } from '../contract/capabilities.ts'
import type { Adapter } from '../contract/index.ts'
import { settleWithin } from '../lib/index.ts'
import type { JsonObject } from '../lib/json-value.ts'

/** Presence updates that are under way, so that a process which is about to end can wait for them. */
export type PresenceService = {
  readonly show: (adapter: Adapter, to: JsonObject, what: PresenceUpdate, about?: PresenceDetails) => Promise<void>
  readonly rest: (maxMs: number) => Promise<void>
}

export function createPresenceService(): PresenceService {
  const underWay = new Set<Promise<void>>()
  return {
    async show(adapter, to, what, about) {
      const { presence } = adapter
      if (presence === undefined || !(what === 'typing' || presence.shows.includes(what))) return
      // The next one may work.
      const sign = Promise.resolve(presence.show(to, what, about)).catch(() => {})
      underWay.add(sign)
      await sign
      underWay.delete(sign)
    },
    async rest(maxMs) {
      if (underWay.size === 0) return
      await settleWithin(Promise.all(underWay), maxMs, undefined)
    },
  }
}
