// The tools of one run, as the loop sees them: it hands over what the model asked for and is told what became of it.
import type { Envelope, Fields } from '../../contract/index.ts'
import type { PreparedCall, RejectedDeclaration, RequestedCall, ToolDeclaration, ToolResult } from './tool.ts'

/** A call under its canonical name, bound, and as readers other than its executor may see it. */
export type ReadyCall = {
  readonly id: string
  readonly tool_name: string
  /** What the model called it. */
  readonly asked: RequestedCall
  /** Absent: it cannot run; `refusal` says why. */
  readonly prepared?: PreparedCall
  readonly refusal?: ToolResult
  readonly declaration?: ToolDeclaration
  readonly redacted: Fields
  readonly parameters_sha256: string
}

export type CallEnd =
  | {
      readonly kind: 'result'
      readonly result: ToolResult
      readonly isRejected: boolean
      /** The mediator wants the run to end after this call. */
      readonly isComplete: boolean
      /** How `result` was shortened, and the result before that. */
      readonly truncated?: Fields
      readonly full?: ToolResult
      readonly diagnostics?: Fields
      /** It was not allowed to run, and by which rule. */
      readonly denial?: { readonly code: string; readonly rule: string }
    }
  /** To be fulfilled outside; the request holds redacted parameters only. */
  | { readonly kind: 'pending'; readonly request: Fields }
  /** To be approved by a person first. */
  | { readonly kind: 'approval'; readonly envelope: Envelope; readonly actionId: string }

export type CallContext = {
  readonly turn: number
  readonly context: Fields
  readonly messages: readonly Envelope[]
  readonly signal: AbortSignal
  /** Results of this run so far, and of this batch so far. */
  readonly results: readonly Fields[]
  readonly batchResults: readonly Fields[]
}

export interface ToolRunner {
  /** Accepted declarations by canonical name; none: nothing is mediated. */
  readonly declarations: ReadonlyMap<string, ToolDeclaration>
  readonly rejected: readonly RejectedDeclaration[]
  ready(call: RequestedCall, id: string, context: Fields): Promise<ReadyCall>
  run(call: ReadyCall, context: CallContext): Promise<CallEnd>
}
