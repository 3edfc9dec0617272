// The store of records in memory.
import type { ChannelRecord, JsonObject, Records } from '../../../src/contract/index.ts'

export type MemoryRecords = Records & { readonly keys: (family: string) => readonly string[] }

export function memoryRecords(): MemoryRecords {
  const rows = new Map<string, ChannelRecord & { readonly family: string; readonly agent: string | undefined }>()
  const of = (family: string) => [...rows.values()].filter((each) => each.family === family)
  return {
    keys: (family) => of(family).map(({ key }) => key),
    async put(family, key, value, { agent, isOnce = false } = {}) {
      const at = `${family} ${key}`
      if (isOnce && rows.has(at)) return false
      // As the database gives it back.
      const stored = JSON.parse(JSON.stringify(value)) as JsonObject
      rows.set(at, { family, key, value: stored, at: rows.get(at)?.at ?? new Date(0).toISOString(), agent })
      return true
    },
    get: async (family, key) => rows.get(`${family} ${key}`)?.value,
    remove: async (family, key) => rows.delete(`${family} ${key}`),
    async list(family, { after = '', limit, agent }) {
      const found = of(family).filter((each) => each.key > after && (agent === undefined || each.agent === agent))
      return found.toSorted((one, other) => (one.key < other.key ? -1 : 1)).slice(0, limit)
    },
    count: async (family, { agent } = {}) =>
      of(family).filter((each) => agent === undefined || each.agent === agent).length,
  }
}
