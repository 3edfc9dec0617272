// The port of pending actions. They are stored by the commit that ends the paused turn and expire by a timer of it; here
// they are looked at and decided, once.
import type { Json, JsonObject } from '../../contract/index.ts'
import type { ApprovalDecision } from './decision.ts'
import type { PendingAction, PendingActionStatus } from './pending-action.ts'
import type { Resolvers } from './terms.ts'

/** As it may be shown: what would be executed is left out. */
export type ActionLine = Omit<PendingAction, 'apply_input' | 'metadata' | 'workspace'> & {
  /** What a decision can be bound to. */
  readonly hash: string
  readonly resolvers: Resolvers
  readonly tool_name: string | null
  readonly tool_call_id: string | null
  readonly run_id: string | null
  readonly session_id: string | null
  readonly conversation_id: string
}

/** Whose actions are meant; nothing else exists for the caller. */
export type ActionScope = {
  readonly tenant: string
  readonly owner: string | null
  readonly conversationId: string | null
}

export type ActionFilter = {
  readonly status: PendingActionStatus | null
  readonly limit: number
  /** The id of the last one seen; ids sort by time. */
  readonly before: string | null
}

/** Who decides: known from a token or from evidence, never from what they write. */
export type Resolver = {
  readonly name: string
  /** By a token of the operator's routes, or by a grant for the agent. */
  readonly isOperator: boolean
  /** An operator who decides in a chat: the terms hold there as for every user. Others decide whatever the terms. */
  readonly isInChat?: boolean
  /** What a grant makes of them, and how strongly they are proven where they decide, as far as is known there. */
  readonly role?: string | null
  readonly assurance?: string | null
  readonly scope: ActionScope
}

export type Verdict = {
  readonly status: ApprovalDecision | 'deleted'
  /** Decide only if the action still has this hash. */
  readonly hash?: string
  readonly reason?: string
  /** The turn that decides, where it is a turn. */
  readonly origin?: string
  /** Who decides, as people there call them: the question says so in the end. */
  readonly by?: string
  /** The answer to the decision shows it in place of the question. */
  readonly isShown?: true
}

export type Resolution =
  /** `isDuplicate`: the same person had decided the same before; nothing happens a second time. */
  | { readonly kind: 'resolved'; readonly action: ActionLine; readonly isDuplicate: boolean }
  | { readonly kind: 'refused'; readonly reason: RefusedResolution; readonly action: ActionLine | null }

export type RefusedResolution = 'not_found' | 'already_resolved' | 'expired' | 'changed' | 'not_allowed'

/** Everything, for the run that goes on. */
export type StoredAction = {
  readonly id: string
  readonly status: PendingActionStatus
  readonly applyInput: Json
  readonly actionHash: string
  readonly decidedHash: string | null
  readonly isInTime: boolean
  readonly resolver: string | null
  readonly reason: string | null
  readonly agent: string
  readonly toolName: string
  readonly runId: string
  readonly conversationId: string
  readonly sessionId: string
  /** Null: it was carried out and scrubbed. */
  readonly resume: JsonObject | null
}

export interface PendingActionStore {
  get(scope: ActionScope, id: string): Promise<ActionLine | undefined>
  /** Those that wait, by the end of their id; and what this very turn decided before it was interrupted. */
  find(
    scope: ActionScope,
    wanted: { readonly code: string | null; readonly origin: string },
  ): Promise<readonly ActionLine[]>
  list(scope: ActionScope, filter: ActionFilter): Promise<readonly ActionLine[]>
  /** How many there are of each status. */
  summary(scope: ActionScope): Promise<Readonly<Record<PendingActionStatus, number>>>
  /** Compare and set, with the signal that wakes the paused run, in one statement. */
  resolve(id: string, verdict: Verdict, resolver: Resolver): Promise<Resolution>
  load(tenant: string, id: string): Promise<StoredAction | undefined>
}
