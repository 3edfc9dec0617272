// A verified caller, and what its headers say about agents before it.
import type { Bearer, CallerContext, RecipientCapabilities } from '../../../src/contract/index.ts'

export type AgentChain = NonNullable<RecipientCapabilities['agent_chain']>

export type A2aCaller = {
  readonly kind: 'token' | 'local' | 'anonymous'
  readonly bearer: Bearer | undefined
  /** The owner of the tasks it sees. All callers without a credential share one: an id that cannot be guessed is all they have. */
  readonly subject: string
  readonly chain:
    | { readonly kind: 'read'; readonly caller: CallerContext | undefined; readonly agentChain: AgentChain | undefined }
    | { readonly kind: 'unreadable'; readonly remedy: string }
}

/** A request from the gateway's own webhook route, whose sender is settled and whose body is not parsed yet. */
export type A2aPayload = { readonly bytes: Uint8Array; readonly caller: A2aCaller }
