// Options of an agent that is a model with tools.

import type { CompactionPolicy, Summarizer } from './compaction.ts'
import type { HistoryPolicy } from './history-window.ts'
import type { BudgetLimit } from './loop/budget.ts'
import type { LoopObserver } from './loop/events.ts'
import type { CompletionPolicy, LoopOptions } from './loop/options.ts'
import type { McpServerConfig } from './mcp/mcp-server.ts'
import type { RetryOptions } from './models/failover.ts'
import type { LanguageModel, Model } from './models/model.ts'
import type { OutputSchema } from './models/structured-output.ts'
import { isRemoteAgent } from './remote-agents.ts'
import type { Tool } from './tools/define-tool.ts'
import type { PreToolMediator } from './tools/mediate.ts'

export type ModelAgentOptions = {
  /** The system prompt. */
  readonly instructions?: string
  /** A model of the AI SDK, or our own `Model`. Several: each answers while those before it are away. */
  readonly model: LanguageModel | Model | readonly (LanguageModel | Model)[]
  readonly temperature?: number
  readonly maxOutputTokens?: number
  /** How long the model may say nothing (120 s); then the provider counts as away. For models of the AI SDK. */
  readonly modelTimeoutMs?: number
  /** How often and how fast a provider is asked again before the turn itself waits for it. */
  readonly modelRetries?: RetryOptions
  /** Pictures that people send are shown to the model; without it they are named, like any file. For models of the AI SDK. */
  readonly files?: boolean
  readonly tools?: readonly Tool[]
  /** Servers whose tools it may use besides its own, as `<server>/<tool>`. */
  readonly mcpServers?: readonly McpServerConfig[]
  /** It may write the state that it shares with a person's program (`shared_state/update`), and always reads it. */
  readonly sharedState?: boolean
  /** Which tools it is shown (`mode`, `tools`, `categories`, `deny`, …). */
  readonly toolPolicy?: unknown
  /** How they may act: `{ tools: { name: 'direct' | 'preview' | 'forbidden' }, categories: … }`. */
  readonly actionPolicy?: unknown
  readonly budgets?: readonly BudgetLimit[]
  readonly maxTurns?: number
  readonly completionPolicy?: CompletionPolicy
  readonly shouldContinue?: LoopOptions['shouldContinue']
  readonly preToolMediator?: PreToolMediator
  /** Rules about the order of tool calls: after one tool at most so many of others, then one of a third kind. */
  readonly toolCallRules?: readonly unknown[]
  /** What of a long conversation the model is shown. Without it: the stored lines of its beginning and its end. */
  readonly history?: HistoryPolicy
  readonly compaction?: { readonly policy: Partial<CompactionPolicy>; readonly summarize: Summarizer }
  /** It answers with JSON of this schema instead of words. Goes with neither tools nor MCP servers. */
  readonly output?: OutputSchema
  readonly onEvent?: LoopObserver
}

// A new option that is forgotten here does not compile.
export const modelAgentKeys: readonly string[] = Object.keys({
  instructions: 1,
  model: 1,
  temperature: 1,
  maxOutputTokens: 1,
  modelTimeoutMs: 1,
  modelRetries: 1,
  files: 1,
  tools: 1,
  mcpServers: 1,
  sharedState: 1,
  toolPolicy: 1,
  actionPolicy: 1,
  budgets: 1,
  maxTurns: 1,
  completionPolicy: 1,
  shouldContinue: 1,
  preToolMediator: 1,
  toolCallRules: 1,
  history: 1,
  compaction: 1,
  output: 1,
  onEvent: 1,
} satisfies Record<keyof ModelAgentOptions, 1>)

const maxModels = 4

/** What types cannot refuse, and what a configuration written without them gets wrong. */
export function modelAgentProblems(options: ModelAgentOptions): readonly string[] {
  const { model, tools = [], mcpServers = [], budgets = [], maxTurns = 1, output } = options
  const isTool = (tool: Tool): boolean => typeof tool?.execute === 'function' && tool.declaration !== undefined
  const isBudget = ({ name, ceiling }: BudgetLimit): boolean => typeof name === 'string' && ceiling >= 1
  const callbacks = ['shouldContinue', 'completionPolicy', 'preToolMediator', 'history', 'onEvent'] as const
  return [
    ...(model === undefined || model === null ? ['needs run (a function) or model'] : []),
    ...(Array.isArray(model) && (model.length === 0 || model.length > maxModels)
      ? [`model must be one, or a list of ${maxModels} at most`]
      : []),
    ...(Array.isArray(model) && model.some(isRemoteAgent)
      ? ['an agent elsewhere cannot be one of several models']
      : []),
    ...(Array.isArray(tools) && tools.every(isTool) ? [] : ['tools must be made with defineTool']),
    ...(Number.isInteger(maxTurns) && maxTurns >= 1 ? [] : ['maxTurns must be a whole number, 1 at least']),
    ...(budgets.every(isBudget) ? [] : ['budgets must each have a name and a ceiling of 1 at least']),
    ...callbacks
      .filter((key) => options[key] !== undefined && typeof options[key] !== 'function')
      .map((key) => `${key} must be a function`),
    ...(output !== undefined && tools.length + mcpServers.length > 0
      ? ['output goes with neither tools nor mcpServers; make it an agent of its own']
      : []),
  ]
}
