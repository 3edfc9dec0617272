// A rejected event: what is kept of a request that was rejected for good. No proof stands behind it: it is there to be looked at, and is never
// replayed.
import type { JsonObject } from '../contract/index.ts'

const field = 'turned_away'

export function rejectedRaw(text: string): JsonObject {
  return { [field]: text }
}

export function isRejectedRaw(raw: JsonObject): boolean {
  return field in raw
}
