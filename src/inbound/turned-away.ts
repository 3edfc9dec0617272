// What is kept of an arrival that was turned away for good. No proof stands behind it: it is there to be looked at, and is never
// driven again.
import type { JsonObject } from '../contract/index.ts'

const field = 'turned_away'

export function turnedAwayRaw(text: string): JsonObject {
  return { [field]: text }
}

export function isTurnedAway(raw: JsonObject): boolean {
  return field in raw
}
