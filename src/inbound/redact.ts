// The stored copy of an original payload: secrets removed, size and depth bounded (msg 3.1, NM-17).
import { cleanText, type Json, type JsonObject } from '../contract/index.ts'

const secretKey = /(token|secret|password|authorization|signature|credential|api_?key|cookie)/i
const secretValue = /\b(bearer\s+[\w.~+/-]{8,}=*|xox[a-z]-[\w-]{8,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*)/gi
/** Signed links carry their credential in the query. */
const secretQuery = /([?&][\w-]*(?:token|sig|signature|key|credential|secret)=)[^&#\s"]+/gi
const maxDepth = 32
const maxBytes = 64 * 1024

/** Returns an object in any case, so that what cannot be kept says so instead of vanishing. */
export function redactRaw(raw: unknown): JsonObject {
  const copy = redact(raw, 0)
  const kept: JsonObject = isObject(copy) ? copy : { value: copy }
  const bytes = JSON.stringify(kept).length
  return bytes <= maxBytes ? kept : { omitted: 'larger than the stored limit', bytes }
}

function redact(value: unknown, depth: number): Json {
  if (depth > maxDepth) return '[nested too deep]'
  if (value === null || typeof value === 'boolean' || typeof value === 'number') return value
  if (typeof value === 'string')
    return cleanText(value).replace(secretValue, '[redacted]').replace(secretQuery, '$1[redacted]')
  if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1))
  if (typeof value === 'object') return redactFields(value as Record<string, unknown>, depth)
  return null
}

function redactFields(fields: Record<string, unknown>, depth: number): JsonObject {
  const copy: Record<string, Json> = {}
  for (const [key, value] of Object.entries(fields)) {
    const isSecret = secretKey.test(key) && (typeof value === 'string' || typeof value === 'object')
    copy[cleanText(key)] = isSecret && value !== null ? '[redacted]' : redact(value, depth + 1)
  }
  return copy
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
