// The model interface: one turn, asked with envelopes and answered with text, calls and usage.
import type { Envelope } from '../../contract/gateway-events.ts'
import type { Fields } from '../../lib/json-value.ts'
import type { RequestedCall, ToolDeclaration } from '../tools/tool.ts'

/**
 * A model that a provider of the AI SDK makes (`openai('gpt-x')`), or its name at the SDK's gateway. Written down here, so that the
 * package's types need none of the SDK's.
 */
export type LanguageModel =
  | string
  | {
      readonly specificationVersion: 'v2' | 'v3' | 'v4'
      readonly provider: string
      readonly modelId: string
      doGenerate(options: never): PromiseLike<unknown>
      doStream(options: never): PromiseLike<unknown>
    }

export type StructuredOutputRequest = {
  readonly format: 'json_schema'
  readonly schema: Fields
  readonly name?: string
  readonly strict: boolean
}

export type ModelRequest = {
  readonly messages: readonly Envelope[]
  /** `parameters` is the schema the model may see: authoritative parameters are left out. */
  readonly tools: readonly ToolDeclaration[]
  readonly system?: string
  readonly model: { readonly provider_id?: string; readonly model_id?: string; readonly temperature?: number }
  readonly context: Fields
  readonly budgets: Readonly<Record<string, { readonly current: number; readonly limit: number }>>
  readonly turn: number
  readonly runId: string
  readonly sessionId: string
  readonly structuredOutput?: StructuredOutputRequest
  /** Index in `messages` after which a cache marker may be set. */
  readonly cacheBreakpointAfter?: number
  /** The bytes of a file that a line names, at most so many. Absent: there are none to be had. */
  readonly readFile?: (id: string, maxBytes: number) => Promise<Uint8Array | undefined>
  readonly signal: AbortSignal
  /** Text as it grows. Absent: no client watches. */
  readonly onDelta?: (delta: string) => void
}

export type ModelFailure = {
  readonly type: string
  readonly message: string
  readonly code?: string
  readonly retryable?: boolean
  readonly retry_after_seconds?: number
}

/** One turn's answer. All of it JSON: it is journaled as it is. */
export type ModelTurn = {
  readonly content?: string
  readonly tool_calls?: readonly RequestedCall[]
  /** Replaces the transcript so far plus this turn; absent: the loop appends by itself. */
  readonly messages?: readonly unknown[]
  readonly continuation_messages?: readonly unknown[]
  /** What a model that runs its own tools wants kept in the result. */
  readonly events?: readonly { readonly type: string; readonly metadata: Fields }[]
  readonly usage?: Readonly<Record<string, unknown>>
  readonly request_metadata?: Fields
  readonly metadata?: Fields
  readonly provider_diagnostics?: Fields
  readonly failure?: ModelFailure
  readonly structured_output?: { readonly parsed: unknown; readonly diagnostics?: Fields }
}

/** Asked once per turn; what it throws fails the run, what it returns as `failure` is a typed end. */
export type Model = (request: ModelRequest) => Promise<ModelTurn>
