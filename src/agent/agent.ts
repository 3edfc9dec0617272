// The agent seam of hop 7: what a developer writes. A function, or a model with tools that the loop runs.
import { GatewayError, type NormalizedMessage } from '../contract/index.ts'
import type { AgentContext, AgentReply, Signal, SignalContext } from './context.ts'
import { createModelRun } from './model-agent.ts'
import type { ModelAgentOptions } from './model-agent-options.ts'

export type { AgentContext, AgentReply, Signal, SignalContext, StepContext } from './context.ts'

export type BusyPolicy = 'queue' | 'steer' | 'interrupt'

type AgentFacts = {
  readonly slug: string
  readonly label?: string
  readonly description?: string
  /** What it can be asked, in its own words; told by /help behind the gateway's commands. */
  readonly help?: string
  /** What becomes of messages that come while it is at work: they wait, join the run, or end it. */
  readonly busy?: BusyPolicy
}

/** A function of its own. */
export type FunctionAgentDefinition = AgentFacts & {
  readonly run: (message: NormalizedMessage, context: AgentContext) => Promise<AgentReply> | AgentReply
  readonly onSignal?: (signal: Signal, context: SignalContext) => Promise<AgentReply> | AgentReply
}

/** A model with instructions and tools, run by the loop. */
export type ModelAgentDefinition = AgentFacts & ModelAgentOptions

export type AgentDefinition = FunctionAgentDefinition
export type Agent = Readonly<FunctionAgentDefinition>

export function defineAgent(definition: FunctionAgentDefinition | ModelAgentDefinition): Agent {
  const { slug } = definition
  if (!/^[a-z0-9][a-z0-9-]*$/.test(slug)) {
    throw new GatewayError('config_invalid', `[agent] slug "${slug}" must be lower-case letters, digits and dashes`)
  }
  if ('run' in definition) return Object.freeze({ ...definition })
  const { label, description, help, busy, ...options } = definition
  return Object.freeze({
    slug,
    ...(label === undefined ? {} : { label }),
    ...(description === undefined ? {} : { description }),
    ...(help === undefined ? {} : { help }),
    ...(busy === undefined ? {} : { busy }),
    ...createModelRun(options),
  })
}
