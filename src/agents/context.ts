// The agent context: what an agent is given with a message.

import type { CommandForm } from '../contract/capabilities.ts'
import type { Envelope } from '../contract/gateway-events.ts'
import type { AgentReply, NormalizedMessage } from '../contract/index.ts'
import type { ClientData, HistoricalMessage } from '../contract/message.ts'
import type { ToolOutcome } from '../contract/metrics.ts'
import type { RemoteAccess, RemoteHop, RunContext, StepOptions } from '../contract/remote-agent.ts'
import type { ClientFacts } from '../contract/response.ts'
import type { Fields, Json, JsonObject } from '../lib/json-value.ts'
import type { AgentCalls } from './agent-calls.ts'
import type { EndedPause, Pauses } from './approvals/pauses.ts'
import type { SharedBudgets } from './loop/budget.ts'
import type { ConversationResult } from './loop/conversation-result.ts'
import type { ToolServers } from './mcp/tool-servers.ts'
import type { CapabilityPolicy } from './tools/capability.ts'

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

export type AgentContext = RunContext & {
  readonly principal: string
  /** The execution principal with the role a grant gives it; empty where no message began the turn. Never shown to a model. */
  readonly who: Fields
  /** Whether a principal may use a capability. */
  readonly capabilities: CapabilityPolicy
  /** Already trimmed; the same as `message.history`. */
  readonly history: readonly HistoricalMessage[]
  /** The stored lines behind `history`, tool calls and results among them. */
  readonly transcript: readonly Envelope[]
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
  /** Whether an earlier try of this turn has finished that step: it is read back then, and nothing needs to allow it again. */
  readonly isFinished: (name: string, options?: Pick<StepOptions, 'args'>) => Promise<boolean>
  /** Wakes this conversation later with a signal. The timer is stored with the turn's answer. */
  readonly schedule: (name: string, dueInMs: number, payload: JsonObject) => void
  /** An extra message before the answer, stored and sent with it. */
  readonly send: (reply: AgentReply) => void
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
  readonly remoteCaller: RemoteCaller
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
export type NextHop = (RemoteHop & { readonly ok: true }) | { readonly ok: false; readonly code: string }

export type RemoteCaller = RemoteAccess & {
  /** `address`: whom we are about to ask, where it has one. */
  readonly next: (address?: string) => Promise<NextHop>
}
