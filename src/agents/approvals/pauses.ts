// Pauses of an agent: for a person's approval, or for a tool that a client runs. Stored with the turn's answer; the
// conversation goes on meanwhile, and a signal wakes it with what was decided.
import type { Json, JsonObject } from '../../lib/json-value.ts'
import type { PendingAction } from './pending-action.ts'
import type { Resolvers } from './terms.ts'

export type ApprovalWish = {
  /** What would happen, in one line. Shown and stored. */
  readonly summary: string
  readonly kind?: string
  /** What is needed to do it: given back after consent, never shown. */
  readonly apply_input: Json
  /** What of it a person may see to decide. */
  readonly preview?: Json
  readonly expiresInMs?: number
  readonly by?: Resolvers
  readonly tool?: { readonly name: string; readonly callId: string }
  /** What the agent wants to find again when it goes on. Asked for once the run has ended. */
  readonly resume?: () => JsonObject
}

export type AskedApproval = {
  readonly action: PendingAction
  /** What a person types to name it. */
  readonly code: string
  /** The question in words, with what to reply. */
  readonly question: string
}

export type ToolRequestWish = {
  /** `declared_name`: what the client that runs it calls it. */
  readonly tool: { readonly name: string; readonly callId: string; readonly declared_name?: string }
  /** As the tool must be given them. */
  readonly parameters: JsonObject
  /** As every reader may see them: without secrets. */
  readonly shown: JsonObject
  /** Facts about the requester. */
  readonly request: JsonObject
  readonly expiresInMs?: number
  readonly resume?: () => JsonObject
}

export interface Pauses {
  /** Asks for consent. The answer comes as a signal of kind `approval`. */
  approval(wish: ApprovalWish): Promise<AskedApproval>
  /** Asks a client to run a tool. The answer comes as a signal of kind `runtime_tool`. */
  toolRequest(wish: ToolRequestWish): Promise<JsonObject>
  /** What came of what this run had waited for, without secrets: kept beside the decision. */
  settle(outcome: { readonly result: Json; readonly error: string | null }): void
}

/** How a wait ended. `tampered`: what is stored is not what was decided about. */
export type PauseDecision = 'accepted' | 'rejected' | 'expired' | 'deleted' | 'tampered'

export type EndedPause =
  | {
      readonly kind: 'approval'
      readonly id: string
      readonly decision: PauseDecision
      readonly resolver: string | null
      readonly reason: string | null
      /** Only after consent. */
      readonly applyInput: Json
      readonly resume: JsonObject
      readonly sessionId: string
    }
  | {
      readonly kind: 'tool_request'
      readonly id: string
      readonly status: 'runtime_tool_completed' | 'runtime_tool_timeout'
      readonly isCancelled: boolean
      readonly result: JsonObject | null
      readonly resume: JsonObject
      readonly sessionId: string
    }
