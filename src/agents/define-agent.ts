// defineAgent: an agent as a function, or a model with tools that the loop runs.
import type { AgentReply, NormalizedMessage, RemoteAgent } from '../contract/index.ts'
import { type AgentFacts, invalidAgentError, parseCommonAgentSettings } from './agent-settings.ts'
import type { AgentContext, Signal, SignalContext } from './context.ts'
import { type McpServer, readMcpServers } from './mcp/mcp-server.ts'
import { createModelRun } from './model-agent.ts'
import { type ModelAgentOptions, modelAgentKeys, modelAgentProblems } from './model-agent-options.ts'
import { getRegisteredModelProbe, type ModelProbe } from './models/openai-compatible.ts'
import { resolveActionPolicy } from './policy/action-policy.ts'
import { isWriteTool } from './policy/tool-policy.ts'
import { isRemoteAgent, runRemoteAgent } from './remote-agents.ts'
import type { Tool } from './tools/define-tool.ts'

export type { AgentReply, StepContext } from '../contract/remote-agent.ts'
export type {
  AgentContext,
  ClientToolReport,
  SharedState,
  Signal,
  SignalContext,
} from './context.ts'

/** A function of its own. */
export type FunctionAgentDefinition = AgentFacts & {
  readonly run: (message: NormalizedMessage, context: AgentContext) => Promise<AgentReply> | AgentReply
  readonly onSignal?: (signal: Signal, context: SignalContext) => Promise<AgentReply> | AgentReply
}

/** A remote agent: it has instructions and tools of its own. */
export type RemoteAgentDefinition = AgentFacts & { readonly model: RemoteAgent }

/** A model with instructions and tools, run by the loop. */
export type ModelAgentDefinition = AgentFacts & ModelAgentOptions

export type AgentDefinition = FunctionAgentDefinition
export type Agent = Readonly<FunctionAgentDefinition> & {
  /** The servers its tools come from; only some runtimes can reach them. */
  readonly mcpServers?: readonly McpServer[]
  /** Names of its tools that write and do not ask first, for the check of who may reach it. */
  readonly writingTools?: readonly string[]
  /** Names of its tools that have terms of approval and whose policy says that no person is asked. */
  readonly unaskedTools?: readonly string[]
  /** Its tools by name and description, for lists of what it can do. */
  readonly toolFacts?: readonly { readonly name: string; readonly description: string }[]
  /** Its models whose servers can be asked how they stand. */
  readonly modelProbes?: readonly ModelProbe[]
  /** Of a remote agent: cancels what a stopped run left behind there. */
  readonly cancelRemote?: RemoteAgent['cancel']
}

const functionKeys = ['run', 'onSignal']

/**
 * An agent: a function, a model with tools, or an agent elsewhere. Wrong settings are told at once, all of them.
 *
 * @example
 * defineAgent({ slug: 'echo', run: (message) => `You said: ${textOf(message.parts)}` })
 *
 * @example
 * defineAgent({ slug: 'helper', model: openAiCompatible({ … }), instructions: 'You help with orders.', tools: [findOrder] })
 */
export function defineAgent(definition: FunctionAgentDefinition | ModelAgentDefinition | RemoteAgentDefinition): Agent {
  if ('run' in definition && 'model' in definition)
    throw invalidAgentError(definition.slug, ['give it either run (a function) or model, not both'])
  if ('run' in definition) {
    parseCommonAgentSettings(definition, functionKeys)
    return Object.freeze({ ...definition })
  }
  if (isRemoteAgentDefinition(definition)) {
    const { model, ...facts } = definition
    parseCommonAgentSettings(facts, [])
    const runAsRemoteAgent: Agent['run'] = (message, context) => runRemoteAgent(model, message, context)
    return Object.freeze({ ...facts, run: runAsRemoteAgent, cancelRemote: model.cancel })
  }
  const facts = parseCommonAgentSettings(definition, modelAgentKeys)
  const problems = [
    ...modelAgentProblems(definition),
    ...(definition.output !== undefined && (facts.agentCalls ?? []).length > 0
      ? ['output goes with no agentCalls either; make it an agent of its own']
      : []),
  ]
  if (problems.length > 0) throw invalidAgentError(facts.slug, problems)
  const mcpServers = readMcpServers(facts.slug, definition.mcpServers ?? [])
  return Object.freeze({
    ...facts,
    // A model asks whom it was told of; what a function asks is written in its code.
    agentCalls: facts.agentCalls ?? [],
    ...(mcpServers.length === 0 ? {} : { mcpServers }),
    ...listToolsThatRunUnasked(definition),
    toolFacts: (definition.tools ?? []).map(({ declaration: { name, description } }) => ({
      name,
      description: description ?? '',
    })),
    modelProbes: [definition.model].flat().flatMap((model) => getRegisteredModelProbe(model) ?? []),
    ...createModelRun(definition, mcpServers),
  })
}

function isRemoteAgentDefinition(
  definition: ModelAgentDefinition | RemoteAgentDefinition,
): definition is RemoteAgentDefinition {
  return isRemoteAgent(definition.model)
}

/** Those that act without asking first, as far as the configuration says it. */
function listToolsThatRunUnasked({
  tools = [],
  actionPolicy,
}: ModelAgentDefinition): Pick<Agent, 'writingTools' | 'unaskedTools'> {
  const runsWithoutApproval = ({ declaration: tool, approval }: Tool): boolean => {
    const asked = { toolName: tool.name, tool, agentActionPolicy: actionPolicy, hasApproval: approval !== undefined }
    return resolveActionPolicy(asked) === 'direct'
  }
  const toolNames = (some: readonly Tool[]): readonly string[] => some.map(({ declaration }) => declaration.name)
  const direct = tools.filter(runsWithoutApproval)
  return {
    writingTools: toolNames(direct.filter(({ declaration }) => isWriteTool(declaration))),
    unaskedTools: toolNames(direct.filter(({ approval }) => approval !== undefined)),
  }
}
