// Agent calls: agents of the same gateway that an agent may ask inside its own turn, from code or as tools of a model.

import * as z from 'zod'
import type { NormalizedResponse, Part } from '../contract/index.ts'
import { isGatewayError } from '../lib/errors.ts'
import { partsText } from '../markdown/index.ts'
import type { SharedBudgets } from './loop/budget.ts'
import { defineTool, type Tool } from './tools/define-tool.ts'
import { ToolError } from './tools/tool.ts'

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
   * the middle. Undefined: it chose to say nothing. Throws `agent_call_denied`; `details.reason` says why.
   */
  call(
    slug: string,
    message: string | { readonly parts: readonly Part[] },
    options?: AgentCallOptions,
  ): Promise<NormalizedResponse | undefined>
  /** Where this run stands in a chain of agents, in words for a model. */
  readonly cue: string | undefined
}

// As a tool: `agent/<slug>`, one message in, its answer out.

const parameters = z.object({
  message: z
    .string()
    .min(1)
    .max(32_000)
    .describe('Everything it has to know: it sees nothing else of this conversation.'),
})

/** `within`: what the run that asks may still use. */
export function agentCallTools(calls: AgentCalls, within: () => SharedBudgets | undefined): readonly Tool[] {
  return calls.list().map((line) => agentCallTool(calls, line, within))
}

function agentCallTool(
  calls: AgentCalls,
  { slug, description }: CallableAgent,
  within: () => SharedBudgets | undefined,
): Tool {
  const tool = defineTool({
    name: `agent/${slug}`,
    description: `Ask the agent ${slug} and get its answer.${description === '' ? '' : ` It says of itself: ${description}`}`,
    parameters,
    async execute({ message }) {
      try {
        return agentCallResult(await calls.call(slug, message, { within: within() }))
      } catch (error) {
        if (isGatewayError(error, 'agent_call_denied'))
          throw new ToolError(error.message, String(error.details['reason'] ?? 'agent_call_denied'))
        throw error
      }
    },
  })
  return { ...tool, isSteps: true }
}

/** Its words are data, like those of any tool. */
function agentCallResult(reply: NormalizedResponse | undefined): { readonly status: string; readonly answer: string } {
  return reply === undefined
    ? { status: 'completed', answer: '' }
    : { status: reply.status, answer: partsText(reply.parts) }
}
