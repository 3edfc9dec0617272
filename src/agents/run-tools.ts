// The tools of one run of a model agent: its own, those of MCP servers and other agents, executed once through the turn's journal.

import type { NormalizedMessage } from '../contract/index.ts'
import { GatewayError, isGatewayError } from '../lib/errors.ts'
import { asFields } from '../lib/index.ts'
import type { Fields, Json } from '../lib/json-value.ts'
import { agentCallTools } from './agent-calls.ts'
import type { AgentContext, ClientToolReport, SignalContext } from './context.ts'
import type { SharedBudgets } from './loop/budget.ts'
import { combineEmitWithWatcher } from './loop/events.ts'
import type { LoopOptions } from './loop/options.ts'
import type { McpServer } from './mcp/mcp-server.ts'
import type { ServerTool, ServerTools } from './mcp/server-tools.ts'
import type { ToolServers } from './mcp/tool-servers.ts'
import type { ModelAgentOptions } from './model-agent-options.ts'
import { sharedStateTool } from './model-view.ts'
import { resolveActionPolicyAndRule } from './policy/action-policy.ts'
import { isToolNamed, readToolPolicy, resolveVisibleTools } from './policy/tool-policy.ts'
import { createGateMediator, type GateRule, readGateRules } from './tools/call-gate.ts'
import { createDuplicateCallGuard } from './tools/call-guards.ts'
import type { CapabilityPolicy } from './tools/capability.ts'
import { createToolCatalog, normalizeDeclarations, type ToolCatalog } from './tools/catalog.ts'
import { type Tool, toolExecutors } from './tools/define-tool.ts'
import { unknownToolOutcome } from './tools/execute-call.ts'
import type { RejectedDeclaration, ToolDeclaration, ToolResult, ToolRunner } from './tools/tool.ts'
import { nameClientTools } from './tools/tool-names.ts'
import { createResultTruncator } from './tools/tool-result.ts'
import { createToolRunner, type EffectContext, type Runnable, type ToolRunnerDeps } from './tools/tool-runner.ts'

export type RunTools = Pick<ToolCatalog, 'find'> & {
  readonly toolRunner: ToolRunner
  readonly context: Fields
  readonly rules: readonly GateRule[]
}

/** The tools of the agent's own and of its servers, and those that could not be had. */
type RunToolOptions = Omit<ModelAgentOptions, 'tools'> & OfferedTools

/** For tools that say nothing about it. Others may take as long as the turn: its lease is renewed meanwhile. */
const defaultTimeoutMs = 8_000

/** Undefined: it has no tools. */
export function createRunTools(
  options: RunToolOptions,
  { facts, clientTools }: { readonly facts: Fields; readonly clientTools: readonly unknown[] },
  context: Pick<AgentContext, 'step' | 'isFinished' | 'emit' | 'report' | 'toolCalled' | 'signal' | 'capabilities'>,
  waits: Pick<ToolRunnerDeps, 'stageApproval' | 'stagePending' | 'answered'>,
): RunTools | undefined {
  const { tools, rejected } = options
  // A call that waited gets its result also when its agent has lost its tools.
  if (tools.length + rejected.length + clientTools.length === 0 && waits.answered === undefined) return undefined
  const offered = collectOfferedDeclarations(options, clientTools)
  const all = createToolCatalog(offered.accepted)
  const visible = resolveVisibleTools(all.tools, { policies: [options.toolPolicy ?? {}], context: facts })
  const catalog = {
    ...createToolCatalog([...visible.values()].map(createSensitiveToolMarker(options.toolPolicy))),
    rejected: [...rejected, ...offered.rejected, ...all.rejected],
  }
  const rules = readGateRules(options.toolCallRules ?? [], (name) => catalog.find(name)?.name ?? name)
  const own = options.preToolMediator
  const inSteps = new Set(tools.filter((tool) => tool.isSteps).map((tool) => tool.declaration.name))
  const asking = new Set(tools.filter((tool) => tool.approval !== undefined).map((tool) => tool.declaration.name))
  const journaled = createJournaledToolExecution(context)
  const toolRunner = createToolRunner({
    defaultTimeoutMs,
    catalog,
    executors: toolExecutors(tools),
    untimed: inSteps,
    once: (call, effect) =>
      inSteps.has(call.tool_name) ? effect(createUnjournaledEffectContext(call.id, context)) : journaled(call, effect),
    isFinished: (call) => context.isFinished('tool', { args: journaledArguments(call) }),
    capabilities: createErrorReportingCapabilities(context),
    ...waits,
    duplicates: createDuplicateCallGuard(),
    truncate: createResultTruncator(),
    actionOf: ({ tool_name, declaration }) =>
      resolveActionPolicyAndRule({
        toolName: tool_name,
        tool: declaration,
        mode: String(facts['mode'] ?? 'chat'),
        agentActionPolicy: options.actionPolicy,
        hasApproval: asking.has(tool_name),
      }),
    mediators: [createGateMediator(rules), ...(own === undefined ? [] : [own])],
    observe: combineEmitWithWatcher(context.emit, options.onEvent, context.report),
    onCall: context.toolCalled,
    onException: (error, name, hide) => context.report(error, { source: 'tool', name, hide }),
    onMediatorException: (error) => context.report(error, { source: 'mediator' }),
  })
  return { toolRunner, find: catalog.find, context: facts, rules }
}

/** A check of the host's that breaks is a no, and its error is the operator's to see. */
function createErrorReportingCapabilities({
  capabilities,
  report,
}: Pick<AgentContext, 'capabilities' | 'report'>): CapabilityPolicy {
  return {
    async can(principal, capability) {
      try {
        return await capabilities.can(principal, capability)
      } catch (error) {
        report(error, { source: 'capability_check', name: capability })
        throw error
      }
    },
  }
}

/** Its own tools first: what a caller offers cannot take their names. It is shown only where policy names it. */
export function collectOfferedDeclarations(
  { tools = [] }: Pick<ModelAgentOptions, 'tools'>,
  clientTools: readonly unknown[],
) {
  const offered = normalizeDeclarations(nameClientTools(clientTools), 'outside')
  const accepted = [...tools.map((tool) => tool.declaration), ...offered.accepted.values()]
  return { accepted, rejected: offered.rejected }
}

/** For tools that others declare, such as those of MCP servers: their results are kept back by policy. */
function createSensitiveToolMarker(policy: unknown): (tool: ToolDeclaration) => ToolDeclaration {
  const { sensitive_results } = readToolPolicy(policy ?? {})
  return (tool) => (isToolNamed(sensitive_results, tool) ? { ...tool, sensitive_result: true } : tool)
}

/** What became of the tools a caller offers; undefined: it need not be told anything. */
export function buildClientToolReport(
  clientTools: readonly unknown[],
  tools: RunTools | undefined,
): ClientToolReport | undefined {
  const left_out: { name: string; reason: string; remedy: string }[] = []
  const renamed: { name: string; as: string }[] = []
  const seen = new Set<string>()
  for (const tool of nameClientTools(clientTools)) {
    const { name, declared_name } = asFields(tool)
    const own = typeof declared_name === 'string' ? declared_name.slice(0, 128) : ''
    const isTwice = seen.has(own)
    seen.add(own)
    if (isTwice || tools?.find(String(name)) === undefined) {
      const why =
        tools === undefined ? leftOut.no_tools : isTwice ? leftOut.duplicate : toolRejectionReason(String(name), tools)
      left_out.push({ name: own, ...why })
    } else if (name !== own && name !== `client/${own}`) renamed.push({ name: own, as: String(name) })
  }
  return left_out.length + renamed.length === 0 ? undefined : { left_out, renamed }
}

const leftOut = {
  not_allowed: {
    reason: 'not_allowed',
    remedy: "the operator can allow it in the agent's toolPolicy: runtime_tools: 'all', or a list of names",
  },
  duplicate: { reason: 'duplicate_name', remedy: 'declare each name once; the first one is used' },
  no_tools: { reason: 'agent_takes_no_tools', remedy: 'this agent answers in a fixed form and calls no tools' },
  invalid: {
    reason: 'invalid_declaration',
    remedy: 'declare a name of at most 256 characters and a JSON schema of an object',
  },
} as const

function toolRejectionReason(name: string, { toolRunner }: RunTools) {
  return toolRunner.rejected.some((rejected) => rejected.name === name) ? leftOut.invalid : leftOut.not_allowed
}

/** By tool and arguments and not by call id: providers number their calls anew in every answer. */
function journaledArguments({ tool_name, prepared }: Runnable): Json {
  // Arguments are JSON: they came from a model or a binding.
  return { tool: tool_name, parameters: JSON.parse(JSON.stringify(prepared.parameters)) }
}

/**
 * A call that is made again because its outcome is unknown is the same call to the other side: it keeps its key, where
 * its tool takes keys at all.
 */
function createJournaledToolExecution({ step }: Pick<AgentContext, 'step'>): ToolRunnerDeps['once'] {
  const settled = new Map<string, number>()
  return async (call, effect) => {
    const { declaration } = call
    const args = journaledArguments(call)
    const alike = JSON.stringify(args)
    const idempotent = declaration.idempotent === true
    const use = (settled.get(alike) ?? 0) + 1
    try {
      const result = await step(
        'tool',
        // Results are JSON by construction, and a step makes them so.
        async (ctx) =>
          (await effect(idempotent ? { ...ctx, key: appendRepeatNumberToKey(ctx.key, use) } : ctx)) as ToolResult &
            Json,
        { args, idempotent, label: toolStepLabel(declaration) },
      )
      if (result.metadata['outcome'] !== 'unknown') settled.set(alike, use)
      return result
    } catch (error) {
      // Told to the model and by it to the person; the turn goes on.
      if (isGatewayError(error, 'tool_outcome_unknown')) return unknownToolOutcome(declaration)
      throw error
    }
  }
}

/** The key of the how-manieth call alike, made of that of another. */
function appendRepeatNumberToKey(key: string, use: number): string {
  const first = key.replace(/#\d+$/, '')
  return use === 1 ? first : `${first}#${use}`
}

function toolStepLabel({ name, ...declaration }: ToolDeclaration): string {
  const label = declaration['label']
  return typeof label === 'string' && label !== '' ? label : name
}

/** For work that is journaled step by step: it acts through its own steps and not through these. */
function createUnjournaledEffectContext(key: string, { signal }: Pick<AgentContext, 'signal'>): EffectContext {
  return { key, signal, fetch, assertHeld: () => {}, isUnsent: () => false }
}

/** What tools may bind to, and whom policies look at. */
export function buildToolContext(
  message: NormalizedMessage,
  { principal, who, evidence, runId, sessionId, agent }: AgentContext,
): Fields {
  const { client_tools: _tools, client_data: _data, tool_result: _result, ...channel } = message.channel ?? {}
  const isKnown = evidence.length > 0 && principal !== ''
  // An agent that another agent asks works for that one: no person reads along.
  const mode = message.recipient_capabilities.agent_chain === undefined ? 'chat' : 'pipeline'
  const run = { agent, run_id: runId, session_id: sessionId, thread_id: message.thread_id }
  return {
    ...run,
    mode,
    sender: message.sender.address,
    client_context: channel,
    caller_context: who['caller_context'] ?? {},
    runtime_context: { ...run, mode },
    principal: isKnown ? who : { auth_source: 'none' },
  }
}

// What the MCP servers offered is a step: a turn that goes on after a crash has the tools it had, also when a server has changed
// its mind or is gone.

type OfferedTools = { readonly tools: readonly Tool[]; readonly rejected: readonly RejectedDeclaration[] }

async function loadOfferedServerTools(
  servers: readonly McpServer[],
  context: Pick<SignalContext, 'step' | 'toolServers'>,
): Promise<OfferedTools> {
  if (servers.length === 0) return { tools: [], rejected: [] }
  const { toolServers } = context
  if (toolServers === undefined)
    throw new GatewayError('config_invalid', '[agent] MCP servers need Node; run the gateway there, or remove them')
  const offered = await context.step(
    'mcp tools',
    async ({ signal }) => JSON.parse(JSON.stringify(await toolServers.offered(servers, signal))),
    { effect: false },
  )
  // The journal holds what this very step returned.
  const { tools, rejected } = offered as ServerTools
  const byName = new Map(servers.map((server) => [server.name, server]))
  return { tools: tools.flatMap((each) => toMcpTools(each, byName.get(each.server), toolServers)), rejected }
}

/** None for a server that was taken out of the configuration since. */
function toMcpTools({ tool, declaration }: ServerTool, server: McpServer | undefined, servers: ToolServers): Tool[] {
  if (server === undefined) return []
  const callServerTool: Tool['execute'] = ({ parameters }, _declaration, context) =>
    servers.call({ server, tool, parameters, declaration }, context)
  return [{ declaration, execute: callServerTool }]
}

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
  const { tools, rejected } = await loadOfferedServerTools(servers, context)
  const purse = createBudgetHolder()
  const calls = agentCallTools(context.agents, purse.open)
  const shared = options.sharedState === true ? [sharedStateTool(context.state)] : []
  return { ...options, tools: [...(options.tools ?? []), ...shared, ...tools, ...calls], rejected, purse }
}

/** One budget for a run, the agents it asks, and the agent that asked it. */
export function sharedBudgetOptions(
  { budgets }: Pick<SignalContext, 'budgets'>,
  { purse }: RunToolset,
): Pick<LoopOptions, 'within' | 'onBudgets'> {
  return { ...(budgets === undefined ? {} : { within: budgets }), onBudgets: purse.fill }
}
