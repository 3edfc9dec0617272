// Options of a run. Everything but the model is optional; a collaborator that throws fails the run, not the process.
import type { Envelope } from '../../contract/gateway-events.ts'
import type { Fields } from '../../lib/json-value.ts'
import type { Model, ModelRequest, ModelTurn, StructuredOutputRequest } from '../models/model.ts'
import type { createRepeatedCallGuard, createRepeatedFailureGuard } from '../tools/call-guards.ts'
import type { ToolDeclaration, ToolRunner } from '../tools/tool.ts'
import type { BudgetLimit, SharedBudgets } from './budget.ts'
import type { ConversationResult } from './conversation-result.ts'
import type { LoopObserver } from './events.ts'

/** Between turns: a message that came in meanwhile, with `metadata.interrupt_action` cancel, redirect or message. */
export type InterruptSource = (messages: readonly Envelope[], context: Fields) => Promise<unknown> | unknown

/** A shorter view of the transcript for the model; the full log stays. */
export type CompactView = (
  messages: readonly Envelope[],
) => Promise<{ readonly messages: readonly Envelope[]; readonly events: readonly { type: string; metadata: Fields }[] }>

/** Rules that keep a run from ending before what it must do is done. */
export type CompletionGate = (messages: readonly Envelope[]) => Fields | undefined

type RunRefusal = { readonly code: string; readonly message: string }

export type TranscriptLock = {
  readonly acquire: (sessionId: string, ttlSeconds: number) => Promise<string | null>
  readonly release: (sessionId: string, token: string) => Promise<void>
}

/** What a model turn is asked with, where the caller of the loop has a say in it. */
export type AskOptions = {
  readonly signal: AbortSignal
  readonly readFile: NonNullable<ModelRequest['readFile']>
  /** Only these tools; undefined: all there are. */
  readonly offered: readonly string[] | undefined
}

export type AnsweredTurn = { readonly answer: ModelTurn; readonly offered: readonly string[] }

export type LoopOptions = {
  readonly model: Model
  /** Keeps what the model said in its n-th turn: `ask` is called, and its request made, only where that is not known yet. */
  readonly keepTurn?: (turn: number, ask: (options: AskOptions) => Promise<AnsweredTurn>) => Promise<ModelTurn>
  readonly runId: string
  readonly sessionId: string
  readonly tools?: ToolRunner
  readonly maxTurns?: number
  readonly budgets?: readonly BudgetLimit[]
  /** Budgets of the run that asks this one: used up together. */
  readonly within?: SharedBudgets
  /** Told at the start: what those may use whom this run asks. */
  readonly onBudgets?: (own: SharedBudgets) => void
  readonly context?: Fields
  readonly system?: string
  readonly modelSettings?: ModelRequest['model']
  readonly shouldContinue?: (turn: Fields, context: Fields) => boolean | Promise<boolean>
  readonly completionPolicy?: CompletionPolicy
  readonly completionGate?: CompletionGate
  readonly spinGuard?: ReturnType<typeof createRepeatedCallGuard>
  readonly failureGuard?: ReturnType<typeof createRepeatedFailureGuard>
  readonly compact?: CompactView
  readonly interruptSource?: InterruptSource
  /** Who the run belongs to: asked before it begins, whether it was cancelled before every turn, and told how it ended. */
  readonly runControl?: {
    readonly start: () => Promise<RunRefusal | undefined>
    readonly isCancelled: () => Promise<boolean>
    readonly finish: (status: string) => Promise<RunRefusal | undefined>
  }
  readonly lock?: TranscriptLock
  readonly lockTtlSeconds?: number
  readonly persist?: (result: ConversationResult) => Promise<unknown>
  readonly structuredOutput?: StructuredOutputRequest
  readonly onDelta?: (delta: string) => void
  readonly observers?: readonly LoopObserver[]
  readonly signal?: AbortSignal
  /** What ends the run and was thrown by what it is made of. */
  readonly onException?: (error: unknown) => void
  readonly monotonicMs: () => number
  /** Continue a paused run: what it had used, and the calls of its batch that still wait. */
  readonly resumeFrom?: ResumePoint
  /** Told at the end of a run that waits for a person or a client: where it goes on. */
  readonly onPause?: (point: ResumePoint) => void
}

/** Where a paused run goes on. JSON, stored with the pause. */
export type ResumePoint = {
  readonly turn: number
  readonly usage: Readonly<Record<string, unknown>>
  readonly budgets: Readonly<Record<string, number>>
  /** The first is the one it paused at: it stands in the transcript already and waits for its result. */
  readonly waitingCalls: readonly { readonly name: string; readonly parameters: Fields; readonly id?: string }[]
}

// A completion policy sees every tool result and may end a run besides the model.

export type CompletionDecision = { readonly complete: boolean; readonly message: string; readonly context: Fields }

export type CompletionPolicy = (
  toolName: string,
  declaration: ToolDeclaration | undefined,
  result: Fields,
  context: Fields,
  turn: number,
) => CompletionDecision | Promise<CompletionDecision>

export function complete(message = '', context: Fields = {}): CompletionDecision {
  return { complete: true, message, context }
}

export function incomplete(message = '', context: Fields = {}): CompletionDecision {
  return { complete: false, message, context }
}
