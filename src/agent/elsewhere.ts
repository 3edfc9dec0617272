// What an agent is given that calls remote agents. Made by the gateway, which knows its own name.
import type { IdentityEvidence, JsonObject, SafeFetch } from '../contract/index.ts'

/** Our place in a chain of agents, as the next one is told it; or why there is no next one. */
export type NextHop =
  | {
      readonly ok: true
      readonly headers: Readonly<Record<string, string>>
      /** For peers that read it in the message itself. */
      readonly chain: JsonObject
    }
  | { readonly ok: false; readonly code: string }

export type RemoteAccess = {
  /** For origins that the operator wrote down. Nothing leaves through either once this turn has lost its lease. */
  readonly fetch: typeof fetch
  /** For addresses that another party named. */
  readonly guarded: SafeFetch
  /** `address`: whom we are about to ask, where it has one. */
  readonly next: (address?: string) => Promise<NextHop>
  /** What was proven about the sender, signed for the agent at this address and for this message alone. */
  readonly attest: (
    evidence: readonly IdentityEvidence[],
    to: { readonly audience: string; readonly messageId: string },
  ) => Promise<readonly JsonObject[]>
  /** Where the card of `address` is, by what its own server says about it (WebFinger). */
  readonly cardIn: (document: unknown, address: string) => string | undefined
}
