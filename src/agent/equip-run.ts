// What a run of a model agent may use: its tools, the agents it may ask, and the budget of both.
import { sharedStateTool } from './client-data.ts'
import type { SignalContext } from './context.ts'
import type { SharedBudgets } from './loop/budget.ts'
import type { LoopOptions } from './loop/options.ts'
import type { McpServer } from './mcp/mcp-server.ts'
import { offerTools } from './mcp/offer-tools.ts'
import type { ModelAgentOptions } from './model-agent-options.ts'
import type { RunToolOptions } from './run-desk.ts'
import { agentCallTools } from './sibling-tools.ts'

/** What a run acts with: its tools, and what those may use whom it asks. */
export type RunToolset = RunToolOptions & { readonly purse: BudgetHolder }

type BudgetHolder = { readonly fill: (own: SharedBudgets) => void; readonly open: () => SharedBudgets | undefined }

/** The budgets exist once the run has begun; the tools that spend from them are there before. */
function createBudgetHolder(): BudgetHolder {
  let own: SharedBudgets | undefined
  return {
    fill(budgets) {
      own = budgets
    },
    open: () => own,
  }
}

/** Its own tools, what its servers offer, and the agents it may ask. */
export async function gatherRunTools(
  options: ModelAgentOptions,
  servers: readonly McpServer[],
  context: SignalContext,
): Promise<RunToolset> {
  const { tools, rejected } = await offerTools(servers, context)
  const purse = createBudgetHolder()
  const siblings = agentCallTools(context.agents, purse.open)
  const shared = options.sharedState === true ? [sharedStateTool(context.state)] : []
  return { ...options, tools: [...(options.tools ?? []), ...shared, ...tools, ...siblings], rejected, purse }
}

/** One budget for a run, the agents it asks, and the agent that asked it. */
export function sharedBudgets(
  { budgets }: Pick<SignalContext, 'budgets'>,
  { purse }: RunToolset,
): Pick<LoopOptions, 'within' | 'onBudgets'> {
  return { ...(budgets === undefined ? {} : { within: budgets }), onBudgets: purse.fill }
}
