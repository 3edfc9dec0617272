// The agent seam of hop 7: what a developer writes, and what it is given. The loop behind `model` comes with it later.
import {
  GatewayError,
  type HistoricalMessage,
  type IdentityEvidence,
  type Json,
  type JsonObject,
  type NormalizedMessage,
  type NormalizedResponse,
  type Part,
} from '../contract/index.ts'

/** What an agent may return: plain text, parts, or a whole response. Nothing means: say nothing. */
export type AgentReply = string | undefined | Partial<NormalizedResponse> | { readonly parts: readonly Part[] }

export type StepOptions = {
  /** The effect may safely run twice; it is given `key` to tell the other side so. */
  readonly idempotent?: boolean
  /** What the step depends on; the same step with other arguments is another step. */
  readonly args?: Json
}

export type StepContext = {
  /** The same on every try of this step. */
  readonly key: string
  readonly signal: AbortSignal
  /** The fetch to act with: nothing leaves once this turn has lost its lease, not even after a pause of the process. */
  readonly fetch: typeof fetch
}

export type AgentContext = {
  readonly agent: string
  readonly principal: string
  readonly evidence: readonly IdentityEvidence[]
  /** Already trimmed; the same as `message.history`. */
  readonly history: readonly HistoricalMessage[]
  /** The messages of this turn as they arrived, each with its own sender and evidence. */
  readonly members: readonly NormalizedMessage[]
  readonly runId: string
  readonly attempt: number
  /** Aborts when this turn must stop: lease lost, deadline, shutdown. */
  readonly signal: AbortSignal
  /** Journaled work: done once, also when the process dies in the middle. */
  readonly step: <T extends Json>(
    name: string,
    work: (context: StepContext) => Promise<T>,
    options?: StepOptions,
  ) => Promise<T>
  /** Wakes this conversation later with a signal. The timer is stored with the turn's answer. */
  readonly schedule: (name: string, dueInMs: number, payload: JsonObject) => void
  /** An extra message before the answer, stored and sent with it. */
  readonly send: (reply: AgentReply) => void
}

/** What wakes a conversation without a message. */
export type Signal = { readonly kind: string; readonly name: string; readonly payload: JsonObject }

export type SignalContext = Omit<AgentContext, 'members' | 'evidence'>

export type AgentDefinition = {
  readonly slug: string
  readonly label?: string
  readonly description?: string
  readonly run: (message: NormalizedMessage, context: AgentContext) => Promise<AgentReply> | AgentReply
  readonly onSignal?: (signal: Signal, context: SignalContext) => Promise<AgentReply> | AgentReply
}

export type Agent = Readonly<AgentDefinition>

export function defineAgent(definition: AgentDefinition): Agent {
  if (!/^[a-z0-9][a-z0-9-]*$/.test(definition.slug)) {
    throw new GatewayError(
      'config_invalid',
      `[agent] slug "${definition.slug}" must be lower-case letters, digits and dashes`,
    )
  }
  return Object.freeze({ ...definition })
}
