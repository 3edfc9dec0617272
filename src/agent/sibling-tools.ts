// Other agents of this gateway as tools of a model agent: `agent/<slug>`, one message in, its answer out.
import * as z from 'zod'
import { isGatewayError, type NormalizedResponse } from '../contract/index.ts'
import { partsText } from '../markdown/index.ts'
import type { SharedBudgets } from './loop/budget.ts'
import type { AgentCalls, CallableAgent } from './siblings.ts'
import { defineTool, type Tool } from './tools/define-tool.ts'
import { ToolError } from './tools/tool-error.ts'

const parameters = z.object({
  message: z
    .string()
    .min(1)
    .max(32_000)
    .describe('Everything it has to know: it sees nothing else of this conversation.'),
})

/** `within`: what the run that asks may still use. */
export function agentCallTools(siblings: AgentCalls, within: () => SharedBudgets | undefined): readonly Tool[] {
  return siblings.list().map((line) => agentCallTool(siblings, line, within))
}

function agentCallTool(
  siblings: AgentCalls,
  { slug, description }: CallableAgent,
  within: () => SharedBudgets | undefined,
): Tool {
  const tool = defineTool({
    name: `agent/${slug}`,
    description: `Ask the agent ${slug} and get its answer.${description === '' ? '' : ` It says of itself: ${description}`}`,
    parameters,
    async execute({ message }) {
      try {
        return agentCallResult(await siblings.call(slug, message, { within: within() }))
      } catch (error) {
        if (isGatewayError(error, 'sibling_refused'))
          throw new ToolError(error.message, String(error.details['reason'] ?? 'sibling_refused'))
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
