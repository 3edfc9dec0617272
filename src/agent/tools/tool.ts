// The vocabulary of tools: what is declared, what the model asks for, what is executed, what comes back.
import type { Fields, Json } from '../../contract/index.ts'

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
