// JSON: bytes parsed into an object within limits, so that no payload costs more than its length; untrusted values read, where
// anything but plain JSON counts as absent; canonical JSON.
import { GatewayError } from './errors.ts'
import type { Fields, Json } from './json-value.ts'

export type JsonRefusal = 'invalid_utf8' | 'invalid_json' | 'too_deep' | 'not_an_object'
export type BoundedJson =
  | { readonly ok: true; readonly value: Fields }
  | { readonly ok: false; readonly reason: JsonRefusal }

/** No known client sends deeper JSON; the bound lets everything behind it recurse safely. */
export const maxJsonDepth = 64

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })
const quote = 0x22
const backslash = 0x5c
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

export function parseBoundedJson(bytes: Uint8Array): BoundedJson {
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    return { ok: false, reason: 'invalid_utf8' }
  }
  if (isTooDeep(text)) return { ok: false, reason: 'too_deep' }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { ok: false, reason: 'invalid_json' }
  }
  return isPlainObject(value) ? { ok: true, value } : { ok: false, reason: 'not_an_object' }
}

/** One pass before parsing: whatever walks the value afterwards may then recurse safely. */
function isTooDeep(text: string): boolean {
  let depth = 0
  let isInString = false
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index)
    if (isInString) {
      if (unit === backslash) index += 1
      else if (unit === quote) isInString = false
    } else if (unit === quote) isInString = true
    else if (unit === openBracket || unit === openBrace) {
      depth += 1
      if (depth > maxJsonDepth) return true
    } else if (unit === closeBracket || unit === closeBrace) depth -= 1
  }
  return false
}

/** A plain object, from any realm. Lists, dates and instances of classes are none. */
export function isPlainObject(value: unknown): value is Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** What the text says as JSON; undefined where it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** How long a value is as JSON in UTF-8. */
export function jsonByteLength(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).byteLength
}

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

// Canonical JSON (RFC 8785): one text per value, without blanks, names in the order of their UTF-16 units, lists in their own order.

/** For signatures, which still verify after the value was parsed and written again. Throws where something is no JSON. */
export function canonicalJson(value: unknown): string {
  return writeCanonical(value, canonicalLeaf)
}

/** Of any value, as JSON makes it: equal values have equal texts. */
export function stableStringify(value: unknown): string {
  // The round trip settles what JSON makes of dates and undefined before anything is sorted.
  const text = JSON.stringify(value)
  return text === undefined ? 'null' : writeCanonical(JSON.parse(text), JSON.stringify)
}

/** The value itself as JSON makes it, its keys in one order: the same for two values whose keys were written differently. */
export function sortedJson(value: unknown): Json {
  return JSON.parse(stableStringify(value))
}

function writeCanonical(value: unknown, writeLeaf: (leaf: unknown) => string): string {
  if (Array.isArray(value)) return `[${value.map((item) => writeCanonical(item, writeLeaf)).join(',')}]`
  if (typeof value !== 'object' || value === null) return writeLeaf(value)
  const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1))
  return `{${entries.map(([name, item]) => `${writeLeaf(name)}:${writeCanonical(item, writeLeaf)}`).join(',')}}`
}

function canonicalLeaf(value: unknown): string {
  if (typeof value === 'string') {
    // Half a character has no form in UTF-8: whatever is signed would differ from what is sent.
    if (value.isWellFormed()) return JSON.stringify(value)
    throw new GatewayError('bad_request', 'half a character cannot be put into canonical form; send whole ones')
  }
  if (typeof value === 'number' && Number.isFinite(value)) return JSON.stringify(value)
  if (typeof value === 'boolean' || value === null) return String(value)
  throw new GatewayError('bad_request', 'only JSON can be put into its canonical form; leave out what is none')
}
