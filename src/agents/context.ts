// The agent context: what an agent is given with a message, and what it may return.
import type {
  ClientData,
  ClientFacts,
  CommandForm,
  Envelope,
  ErrorSource,
  Fields,
  HistoricalMessage,
  IdentityEvidence,
  Json,
  JsonObject,
  NormalizedMessage,
  NormalizedResponse,
  Part,
  SafeFetch,
  SourcedFile,
  ToolOutcome,
} from '../contract/index.ts'
import type { AgentCalls } from './agent-calls.ts'
import type { EndedPause, Pauses } from './approvals/pauses.ts'
import type { SharedBudgets } from './loop/budget.ts'
import type { ConversationResult } from './loop/conversation-result.ts'
import type { ToolServers } from './mcp/tool-servers.ts'
import type { CapabilityPolicy } from './tools/capability.ts'

/** What an agent may return: plain text, parts, or a whole response. Nothing means: say nothing. */
export type AgentReply = string | undefined | Partial<NormalizedResponse> | { readonly parts: readonly Part[] }

export type StepOptions = {
  /** The effect may safely run twice; it is given `key` to tell the other side so. */
  readonly idempotent?: boolean
  /** What the step depends on; the same step with other arguments is another step. */
  readonly args?: Json
  /** What people are told it is, should the turn break off after it; its name where there is none. */
  readonly label?: string
  /**
   * False: it changes nothing outside, so it may run again until its result is stored. A turn that took no effect may still be
   * split, and hears of an edit.
   */
  readonly effect?: boolean
}

export type StepContext = {
  /** The same on every try of this step. */
  readonly key: string
  readonly signal: AbortSignal
  /** The fetch to act with: nothing leaves once this turn has lost its lease, not even after a pause of the process. */
  readonly fetch: typeof fetch
  /** For effects that need no `fetch`: throws when this turn has lost its lease. Ask right before acting. */
  readonly assertHeld: () => void
  /** It wanted to send something with `fetch`, and not one byte has left. */
  readonly isUnsent: () => boolean
}

/** The files of a conversation, by the id in `part.attachment`. Undefined: gone, or not of this conversation. */
export type AgentFiles = {
  readonly open: (id: string) => Promise<SourcedFile | undefined>
  /** The whole of it in memory; throws where it has more than `maxBytes`. */
  readonly bytes: (id: string, maxBytes: number) => Promise<Uint8Array | undefined>
}

/**
 * State that the agent shares with the program in front of a person, such as a web page: one JSON value per conversation. Both
 * sides may write it. It is the program's word, like a message, and stored with the turn's answer.
 */
export type SharedState = {
  readonly get: () => Promise<Json>
  /** At most 60 KiB of JSON; larger ones are refused with `state_too_large`. */
  readonly set: (next: Json) => Promise<void>
}

/** What became of the tools that a caller offers. */
export type ClientToolReport = NonNullable<ClientFacts['tools']>

/** What became of one tool call of a model, for operators. */
export type ToolCallFacts = {
  readonly tool: string
  readonly outcome: ToolOutcome
  readonly ms: number
  /** Why it was denied, and by which rule. */
  readonly denial?: { readonly code: string; readonly rule: string }
}

export type AgentContext = {
  readonly agent: string
  readonly principal: string
  /** The execution principal with the role a grant gives it; empty where no message began the turn. Never shown to a model. */
  readonly who: Fields
  /** Whether a principal may use a capability. */
  readonly capabilities: CapabilityPolicy
  readonly evidence: readonly IdentityEvidence[]
  /** Already trimmed; the same as `message.history`. */
  readonly history: readonly HistoricalMessage[]
  /** The stored lines behind `history`, tool calls and results among them. */
  readonly transcript: readonly Envelope[]
  /** Parts name them and carry a handle that is good for a minute; these are good for as long as the turn runs. */
  readonly attachments: AgentFiles
  readonly sessionId: string
  /** What marks the speakers' lines that a model is shown in this session. For a model alone: no person may see it. */
  readonly speakerMark: () => Promise<string>
  /** What the sender's program sent beside the message: context, properties. Data of the sender, never instructions. */
  readonly client: ClientData | undefined
  readonly state: SharedState
  /** Tells the caller what became of the tools it offers. */
  readonly reportClientTools: (report: ClientToolReport) => void
  /** The messages of this turn as they arrived, each with its own sender and evidence. */
  readonly members: readonly NormalizedMessage[]
  readonly runId: string
  readonly attempt: number
  /** Aborts when this turn must stop: lease lost, deadline, shutdown. */
  readonly signal: AbortSignal
  /**
   * Aborts when a person or an operator stopped this run. For model calls and waiting; a step in flight is never broken off by it, and the
   * next step does not begin: it throws `run_cancelled`, which ends the run as cancelled.
   */
  readonly stop: AbortSignal
  /** Journaled work: done once, also when the process dies in the middle. */
  readonly step: <T extends Json>(
    name: string,
    work: (context: StepContext) => Promise<T>,
    options?: StepOptions,
  ) => Promise<T>
  /** Whether an earlier try of this turn has finished that step: it is read back then, and nothing needs to allow it again. */
  readonly isFinished: (name: string, options?: Pick<StepOptions, 'args'>) => Promise<boolean>
  /** Wakes this conversation later with a signal. The timer is stored with the turn's answer. */
  readonly schedule: (name: string, dueInMs: number, payload: JsonObject) => void
  /** An extra message before the answer, stored and sent with it. */
  readonly send: (reply: AgentReply) => void
  /** The answer as it grows, for clients that watch the run; the answer itself is what is returned. */
  readonly show: (delta: string) => void
  /** An event for clients that watch this run. Its metadata is stored: no secrets. */
  readonly emit: (type: string, metadata: Fields) => void
  /**
   * Tells operators of an error that the agent goes on after. Message and stack are kept with the turn; people and models are not told.
   * What an agent throws is kept without it.
   */
  readonly report: (error: unknown, source?: ErrorSource) => void
  /** Counts a tool call, and writes down one that was denied. */
  readonly toolCalled: (facts: ToolCallFacts) => Promise<void>
  /** How a person gives the gateway a command where this turn answers: `/stop`, on Slack `/parley stop`. */
  readonly commandForm: CommandForm | undefined
  /** What came in meanwhile, if this agent's busy policy takes it into the run; undefined: nothing. */
  readonly hear: () => Promise<Envelope | undefined>
  /** How a run that the loop ran came to its end. */
  readonly finish: (result: ConversationResult) => void
  /** Lines for the transcript between what was heard and what is said: tool calls, results, notes. */
  readonly record: (lines: readonly Envelope[]) => void
  /** Stops for a person's consent, or for a tool that a client runs; `onSignal` is called when the answer is there. */
  readonly pause: Pauses
  /** The other agents of this gateway. */
  readonly agents: AgentCalls
  /** For agents that pass work on to one outside this gateway. */
  readonly elsewhere: RemoteAccess
  /** What the agent that asked this one lets it use; absent where a person did. */
  readonly budgets?: SharedBudgets
  /** The MCP servers of this process; absent where there can be none. */
  readonly toolServers?: ToolServers
}

/** What wakes a conversation without a message. */
export type Signal = {
  readonly kind: string
  readonly name: string
  readonly payload: JsonObject
  /** Set where it ends a wait of this agent. */
  readonly pause?: EndedPause
}

export type SignalContext = Omit<AgentContext, 'members' | 'evidence' | 'who'>

// Access to remote agents is made by the gateway, which knows its own name.

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
