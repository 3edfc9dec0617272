// Records of a connection in memory, for adapters that are asked without a database.

import type { Records } from '../contract/index.ts'
import type { ChannelRecord } from '../contract/records.ts'
import type { JsonObject } from '../lib/json-value.ts'

type Row = ChannelRecord & { readonly family: string; readonly agent: string | undefined }

/** `keys`: in the order they came. */
export type MemoryRecords = Records & { readonly keys: (family: string) => readonly string[] }

export function createMemoryRecords(now: () => number = Date.now): MemoryRecords {
  const rows = new Map<string, Row>()
  const recordKey = (family: string, key: string): string => JSON.stringify([family, key])
  const listRows = (family: string, agent: string | undefined): readonly Row[] =>
    [...rows.values()]
      .filter((row) => row.family === family && (agent === undefined || row.agent === agent))
      .toSorted((one, other) => (one.key < other.key ? -1 : 1))
  return {
    keys: (family) => [...rows.values()].flatMap((row) => (row.family === family ? [row.key] : [])),
    async put(family, key, value, { agent, isOnce = false } = {}) {
      const known = rows.get(recordKey(family, key))
      if (known !== undefined && isOnce) return false
      // As the database gives it back.
      const stored: JsonObject = JSON.parse(JSON.stringify(value))
      rows.set(recordKey(family, key), {
        family,
        key,
        agent,
        value: stored,
        at: known?.at ?? new Date(now()).toISOString(),
      })
      return true
    },
    get: async (family, key) => rows.get(recordKey(family, key))?.value,
    remove: async (family, key) => rows.delete(recordKey(family, key)),
    list: async (family, { after = '', limit, agent }) =>
      listRows(family, agent)
        .filter(({ key }) => key > after)
        .slice(0, Math.min(limit, 1_000))
        .map(({ key, value, at }) => ({ key, value, at })),
    count: async (family, { agent } = {}) => listRows(family, agent).length,
  }
}
