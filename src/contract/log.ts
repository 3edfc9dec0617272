// The log as the stages see it: an event name and facts that are safe to show. Never a body, token or address.
import type { JsonObject } from './json.ts'

export type Log = {
  readonly info: (event: string, facts?: JsonObject) => void
  readonly warn: (event: string, facts?: JsonObject) => void
  readonly error: (event: string, facts?: JsonObject) => void
}
