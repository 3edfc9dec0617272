// Caps on the shape of a parsed body: whatever reads it afterwards may walk it without counting.
import type { SignatureRejectReason } from './refusal.ts'

const maxDepth = 32
const maxItems = 2000
const maxNames = 20_000
const maxText = 200 * 1024

/** Undefined: within all of them. The parser has bounded the depth already, so this may recurse. */
export function checkBodyShape(value: unknown): SignatureRejectReason | undefined {
  return checkValueShape(value, 1, { names: 0 })
}

function checkValueShape(value: unknown, depth: number, seen: { names: number }): SignatureRejectReason | undefined {
  if (typeof value === 'string') return value.length > maxText ? 'text_too_long' : undefined
  if (typeof value !== 'object' || value === null) return undefined
  if (depth > maxDepth) return 'too_deep'
  if (Array.isArray(value)) {
    if (value.length > maxItems) return 'too_many_values'
    for (const item of value) {
      const fault = checkValueShape(item, depth + 1, seen)
      if (fault !== undefined) return fault
    }
    return undefined
  }
  for (const item of Object.values(value)) {
    seen.names += 1
    if (seen.names > maxNames) return 'too_many_values'
    const fault = checkValueShape(item, depth + 1, seen)
    if (fault !== undefined) return fault
  }
  return undefined
}
