// JSON values: reading untrusted ones, where anything but plain JSON counts as absent, and their canonical hash.
import type { Fields, Json } from '../contract/index.ts'
import { isPlainObject, sha256Hex } from '../lib/index.ts'

export { isPlainObject } from '../lib/index.ts'

/** No known client sends deeper JSON; the bound lets everything behind it recurse safely. */
export const maxJsonDepth = 64

/** Any object but a list: hosts hand in instances of their own classes too. */
export function isObjectRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function asFields(value: unknown): Fields {
  return isPlainObject(value) ? value : {}
}

export function arrayOrEmpty(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function isEmptyArray(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0
}

/** Own keys only: a path such as `constructor` finds nothing. */
export function ownField(fields: Fields, key: string): unknown {
  return Object.hasOwn(fields, key) ? fields[key] : undefined
}

/** Text without surrounding blanks; undefined when nothing is left. */
export function trimmedText(value: unknown): string | undefined {
  const text = typeof value === 'string' ? value.trim() : ''
  return text === '' ? undefined : text
}

/** The non-blank texts of a list, or of a single text. */
export function textList(value: unknown): readonly string[] {
  const list = Array.isArray(value) ? value : [value]
  return list.map(trimmedText).filter((text) => text !== undefined)
}

/** The JSON in a value; functions, instances, NaN and whatever is too deep are left out. */
export function toJson(value: unknown, depth = maxJsonDepth): Json | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  // Minus zero is zero in JSON.
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : undefined
  if (depth === 0) return undefined
  if (Array.isArray(value)) return value.map((item) => toJson(item, depth - 1) ?? null)
  if (!isPlainObject(value)) return undefined
  const entries = Object.entries(value).map(([key, item]) => [key, toJson(item, depth - 1)] as const)
  return Object.fromEntries(entries.filter((entry): entry is [string, Json] => entry[1] !== undefined))
}

/** Whether a value is JSON as it stands: nothing would be left out, nothing is too deep. */
export function isJsonValue(value: unknown, depth = maxJsonDepth): value is Json {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (depth === 0) return false
  if (Array.isArray(value)) return value.every((item) => isJsonValue(item, depth - 1))
  return isPlainObject(value) && Object.values(value).every((item) => isJsonValue(item, depth - 1))
}

/** JSON as a database can keep it: without NUL and without halves of surrogate pairs. */
export function toStorableJson(value: unknown): Json {
  const text = JSON.stringify(value, (_key, item: unknown) =>
    typeof item === 'string' ? item.replaceAll('\u0000', '').toWellFormed() : item,
  )
  return text === undefined ? null : (JSON.parse(text) as Json)
}

// Canonical JSON: one text per value, so that equal values have equal hashes: without blanks, keys in the order of their code
// units at every level, lists in their own order, undefined left out. The hash says how it was made: `sha256:` and hex.

export function stableStringify(value: unknown): string {
  // The round trip settles what JSON makes of dates and undefined before anything is sorted.
  const text = JSON.stringify(value)
  return text === undefined ? 'null' : writeCanonical(JSON.parse(text))
}

/** The value itself as JSON makes it, its keys in one order: the same for two values whose keys were written differently. */
export function sortedJson(value: unknown): Json {
  return JSON.parse(stableStringify(value))
}

export async function sha256OfJson(value: unknown): Promise<string> {
  return `sha256:${await sha256Hex(stableStringify(value))}`
}

function writeCanonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(writeCanonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${writeCanonical(item)}`).join(',')}}`
}
