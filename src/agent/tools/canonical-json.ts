// One text per value, so that equal values have equal hashes: JSON without blanks, keys in the order of their code
// units at every level, lists in their own order, undefined left out. The hash says how it was made: `sha256:` and hex.
import type { Json } from '../../contract/index.ts'
import { sha256Hex } from '../../lib/index.ts'

export function canonicalJson(value: unknown): string {
  // The round trip settles what JSON makes of dates and undefined before anything is sorted.
  const text = JSON.stringify(value)
  return text === undefined ? 'null' : writeCanonical(JSON.parse(text))
}

/** The value itself as JSON makes it, its keys in one order: the same for two values whose keys were written differently. */
export function sortedJson(value: unknown): Json {
  return JSON.parse(canonicalJson(value))
}

export async function sha256OfJson(value: unknown): Promise<string> {
  return `sha256:${await sha256Hex(canonicalJson(value))}`
}

function writeCanonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(writeCanonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${writeCanonical(item)}`).join(',')}}`
}
