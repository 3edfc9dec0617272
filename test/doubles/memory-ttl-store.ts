// The store of notes in memory, at a clock of the test's.

import type { TtlStore } from '../../src/contract/index.ts'
import type { JsonObject } from '../../src/lib/json-value.ts'

export type MemoryNotes = TtlStore & { readonly keys: () => readonly string[] }

export function memoryNotes(now: () => number = Date.now): MemoryNotes {
  const rows = new Map<string, { readonly value: JsonObject; readonly until: number }>()
  const live = (at: string): JsonObject | undefined => {
    const found = rows.get(at)
    return found === undefined || found.until <= now() ? undefined : found.value
  }
  return {
    keys: () => [...rows.keys()].filter((at) => live(at) !== undefined),
    async keep({ family, key, value = {}, lifeMs, atMost, isOnce = false }) {
      const at = `${family}/${key}`
      const count = () =>
        [...rows.keys()].filter((each) => each.startsWith(`${family}/`) && live(each) !== undefined).length
      if ((isOnce && live(at) !== undefined) || (atMost !== undefined && count() >= atMost)) return false
      rows.set(at, { value, until: now() + lifeMs })
      return true
    },
    read: async (family, key) => live(`${family}/${key}`),
    async take(family, key) {
      const found = live(`${family}/${key}`)
      rows.delete(`${family}/${key}`)
      return found
    },
  }
}
