// Types of tools: what is declared, what the model asks for, what is executed, what comes back, and what pauses a run.

import type { Envelope } from '../../contract/gateway-events.ts'
import type { Fields, Json } from '../../lib/json-value.ts'

export type BindingSource = 'context' | 'client_context' | 'caller_context' | 'runtime_context'

/** A parameter filled from what the gateway knows. Authoritative: the model neither sees nor decides it. */
export type ParameterBinding = {
  readonly source: BindingSource
  readonly path: string
  readonly sensitive?: boolean
  readonly default?: Json
  readonly authoritative?: boolean
}

/** A declaration after normalization: canonical name, every default filled in. Unknown scalars and lists are kept. */
export type ToolDeclaration = {
  readonly name: string
  readonly source: string
  readonly description: string
  /** JSON Schema of the parameters as declared, authoritative ones included. */
  readonly parameters: Fields
  readonly executor: 'client' | 'host'
  readonly scope: 'run'
  readonly runtime?: Fields
  readonly parameter_bindings?: Readonly<Record<string, ParameterBinding>>
  readonly parameter_defaults?: Readonly<Record<string, Json>>
  readonly required_capability?: string
  readonly provider_safe_name?: string
  readonly provider_aliases?: readonly string[]
  /** Running it twice with one key is running it once; a call that broke off may be made again. */
  readonly idempotent?: boolean
  readonly timeout_ms?: number
  readonly [extension: string]: unknown
}

export type RejectedDeclaration = { readonly name: string; readonly reason: string }

/** A call as the model made it. Arguments that were no JSON object say so in `metadata.invalid_arguments`. */
export type RequestedCall = {
  readonly name: string
  readonly parameters: Fields
  readonly id?: string
  readonly metadata?: Fields
}

/** A call ready to run: canonical name, bound parameters. */
export type PreparedCall = {
  readonly tool_name: string
  readonly parameters: Fields
  readonly id: string
  readonly metadata: { readonly source: string; readonly provider_tool_name: string; readonly tool_call_id: string }
}

/** What a call came to. `error` and `result` exclude each other. */
export type ToolResult = {
  readonly success: boolean
  readonly tool_name: string
  readonly metadata: Fields
  readonly runtime?: Fields
  readonly status?: string
  readonly runtime_tool_request?: Fields
  readonly result?: unknown
  readonly error?: string
}

export type ToolContext = {
  /** What bindings read from: turn context with `client_context`, `caller_context`, `runtime_context` below it. */
  readonly context: Fields
  readonly turn: number
  readonly signal: AbortSignal
  /** The same on every try of this call; given to tools that declare themselves idempotent. */
  readonly key: string
  readonly fetch: typeof fetch
  /** For effects that need no `fetch`: throws when this turn has lost its lease. Ask right before acting. */
  readonly assertHeld: () => void
  /** It wanted to send something with `fetch`, and not one byte has left. */
  readonly isUnsent: () => boolean
  /** Present: a person agreed to this very call. A tool that asks by itself sees here that it may go on. */
  readonly approval?: { readonly action_id: string; readonly resolver: string }
}

/** Runs one prepared call. What it throws becomes a failed result with a safe text, never the end of the run. */
export type ToolExecutor = (
  call: PreparedCall,
  declaration: ToolDeclaration,
  context: ToolContext,
) => Promise<unknown> | unknown

// The loop hands over what the model asked for and is told what became of it.

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

// Results that pause the run. The mark is a symbol, so that nothing a tool fetched from outside can look like one: JSON cannot
// spell it.

const mark: unique symbol = Symbol.for('parley.pause')

export type Pause = { readonly [mark]: 'runtime_tool_pending' | 'approval_required'; readonly details: Fields }

/** A client runs the tool and reports later. */
export function runtimeToolPending(request: Fields = {}): Pause {
  return { [mark]: 'runtime_tool_pending', details: request }
}

/** A person must agree first. `details` is what they decide about. */
export function approvalRequired(details: Fields): Pause {
  return { [mark]: 'approval_required', details }
}

export function readPause(
  value: unknown,
): { readonly status: Pause[typeof mark]; readonly details: Fields } | undefined {
  if (typeof value !== 'object' || value === null || !(mark in value)) return undefined
  const pause = value as Pause
  return { status: pause[mark], details: pause.details }
}

// A ToolError's message is for the model. Any other exception stays between the tool and its operator.

/** Throw it from a tool to tell the model what to do differently. A person may come to read it too. */
export class ToolError extends Error {
  readonly errorType: string

  constructor(message: string, errorType = 'tool_error') {
    super(message)
    this.name = 'ToolError'
    this.errorType = errorType
  }
}

export function isToolError(error: unknown): error is ToolError {
  // By shape and not by class: a configuration file may bring a second copy of this module.
  return error instanceof Error && error.name === 'ToolError' && 'errorType' in error
}
