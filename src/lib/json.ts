// Parses bytes into a JSON object within limits, so that no payload costs more than its length; and canonical JSON.
import { GatewayError } from './errors.ts'

export type JsonRefusal = 'invalid_utf8' | 'invalid_json' | 'too_deep' | 'not_an_object'
export type BoundedJson =
  | { readonly ok: true; readonly value: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly reason: JsonRefusal }

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })
const maxDepth = 64
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
      if (depth > maxDepth) return true
    } else if (unit === closeBracket || unit === closeBrace) depth -= 1
  }
  return false
}

/** A plain object, from any realm. Lists, dates and instances of classes are none. */
export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
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

// Canonical JSON (RFC 8785): one text per value, so that a signature over it still verifies after it was parsed and written again.

export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    // Names in the order of their UTF-16 units, which is how strings compare here.
    const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1))
    return `{${entries.map(([name, item]) => `${canonicalString(name)}:${canonicalJson(item)}`).join(',')}}`
  }
  if (typeof value === 'string') return canonicalString(value)
  if (typeof value === 'number' && Number.isFinite(value)) return JSON.stringify(value)
  if (typeof value === 'boolean' || value === null) return String(value)
  throw new GatewayError('bad_request', 'only JSON can be put into its canonical form; leave out what is none')
}

/** Half a character has no form in UTF-8: whatever is signed would differ from what is sent. */
function canonicalString(value: string): string {
  if (value.isWellFormed()) return JSON.stringify(value)
  throw new GatewayError('bad_request', 'half a character cannot be put into canonical form; send whole ones')
}
