// Agents of the same gateway that an agent may ask, inside its own turn.
import type { NormalizedResponse, Part } from '../contract/index.ts'
import type { SharedBudgets } from './loop/budget.ts'

export type CallableAgent = { readonly slug: string; readonly address: string; readonly description: string }

export type AgentCallOptions = {
  /** What the caller's run may still use: the agents it calls use it up as well. */
  readonly within?: SharedBudgets | undefined
}

export interface AgentCalls {
  /** Those that may be asked from here: none at the end of a chain. */
  list(): readonly CallableAgent[]
  /**
   * Runs another agent now, with its own instructions, tools and policies, for the same person and under the same evidence. It
   * knows of the conversation what it is told here. Its steps are steps of this turn: done once, also when the process dies in
   * the middle. Undefined: it chose to say nothing. Throws `sibling_refused`; `details.reason` says why.
   */
  call(
    slug: string,
    message: string | { readonly parts: readonly Part[] },
    options?: AgentCallOptions,
  ): Promise<NormalizedResponse | undefined>
  /** Where this run stands in a chain of agents, in words for a model. */
  readonly cue: string | undefined
}
