// A pairing as the end of an access challenge stores it.
import type { JsonObject } from '../contract/index.ts'

/** An unknown sender asks to be let in. `knownId`: the pairing that is open already. */
export type NewPairing = {
  readonly id: string
  readonly knownId: string | null
  /** `*`: with the connection; else with this agent. */
  readonly agent: string
  readonly subject: string
  readonly code: string
  /** For the operator's eyes; proves nothing. */
  readonly shownName: string | null
  readonly evidence: JsonObject
  readonly expiresInMs: number
  /** Of the sender: a domain, a workspace, an issuer. */
  readonly group: string | null
  /** How many may wait at once. */
  readonly perConnection: number
  readonly perGroup: number
}
