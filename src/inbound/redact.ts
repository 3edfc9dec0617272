// The stored copy of an original payload: secrets removed, size and depth bounded.
import { cleanText, type Json, type JsonObject, secretQuery, secretValue } from '../contract/index.ts'

const secretKey = /(token|secret|password|authorization|signature|credential|api_?key|cookie)/i
/**
 * What every secret value or query holds somewhere, and every text that is not clean: most have nothing of it, and are not
 * looked at twice.
 */
const hint = /[^\u0001-\u007f]|bearer\s|xox[a-z]-|parley_|eyj|[?&]/i
const maxDepth = 32
const maxBytes = 64 * 1024

/** No character takes more in JSON: `\u0000`. */
const maxEscaped = 6

/** A measure that is never too small: characters of text and names, and a few for whatever stands around them. */
type Size = { atMost: number }

/** Returns an object in any case, so that what cannot be kept says so instead of vanishing. */
export function redactRaw(raw: unknown): JsonObject {
  const size: Size = { atMost: 0 }
  const copy = redact(raw, 0, size)
  const kept: JsonObject = isPlainObject(copy) ? copy : { value: copy }
  if (size.atMost * maxEscaped <= maxBytes) return kept
  const bytes = JSON.stringify(kept).length
  return bytes <= maxBytes ? kept : { omitted: 'larger than the stored limit', bytes }
}

function redact(value: unknown, depth: number, size: Size): Json {
  size.atMost += 8
  if (depth > maxDepth) return '[nested too deep]'
  if (typeof value === 'string') return redactText(value, size)
  if (value === null || typeof value === 'boolean' || typeof value === 'number') return value
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1, size))
  if (typeof value === 'object') return redactRawFields(value as Record<string, unknown>, depth, size)
  return null
}

function redactText(text: string, size: Size): string {
  const shown = hint.test(text)
    ? cleanText(text).replace(secretValue, '[redacted]').replace(secretQuery, '$1[redacted]')
    : text
  size.atMost += shown.length
  return shown
}

function redactRawFields(fields: Record<string, unknown>, depth: number, size: Size): JsonObject {
  const copy: Record<string, Json> = {}
  for (const key of Object.keys(fields)) {
    const value = fields[key]
    const mayHold = typeof value === 'string' || (typeof value === 'object' && value !== null)
    const isSecret = mayHold && (secretKey.test(key) || isSignature(key, fields))
    copy[cleanText(key)] = isSecret ? '[redacted]' : redact(value, depth + 1, size)
    size.atMost += key.length + 8
  }
  return copy
}

/** The signature of evidence from another gateway is called just `value`. */
function isSignature(key: string, fields: Record<string, unknown>): boolean {
  return key === 'value' && fields['type'] === 'signed-attestation'
}

function isPlainObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
