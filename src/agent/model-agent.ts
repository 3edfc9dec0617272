// An agent that is a model with tools: what a developer declares, and the run that comes of it.
import type { Envelope, NormalizedMessage } from '../contract/index.ts'
import { partsText } from '../rendering/index.ts'
import { compact } from './compaction/compact.ts'
import { compactionPolicy } from './compaction/policy.ts'
import type { AgentContext, AgentReply } from './context.ts'
import { notifyAll } from './loop/events.ts'
import type { Model } from './loop/model.ts'
import { conversationRequest } from './loop/request.ts'
import type { ConversationResult } from './loop/result.ts'
import { runLoop } from './loop/run-loop.ts'
import { textLine } from './messages/create.ts'
import type { ModelAgentOptions } from './model-agent-options.ts'
import { aiSdkModel } from './providers/ai-sdk.ts'
import { withRetries } from './providers/with-retries.ts'
import { runDesk } from './run-desk.ts'
import { statusReply } from './status-reply.ts'
import { completionGate } from './tools/call-gate.ts'
import { sha256Of } from './tools/canonical-json.ts'
import { createFailureGuard } from './tools/failure-guard.ts'
import { createSpinGuard } from './tools/spin-guard.ts'

export function createModelRun(options: ModelAgentOptions) {
  const { onEvent } = options
  const model = withRetries(modelOf(options), {
    ...options.modelRetries,
    onRetry: (facts) => notifyAll(onEvent === undefined ? [] : [onEvent])('provider_retry', facts),
  })
  const { compaction } = options
  const policy = compactionPolicy({ enabled: true, ...compaction?.policy })
  return async (message: NormalizedMessage, context: AgentContext): Promise<AgentReply> => {
    const desk = runDesk(options, message, context)
    const before = shown(options, message, context)
    const heard = textLine('user', partsText(message.parts))
    const request = conversationRequest({
      messages: [...before, heard],
      runtime_context: desk?.context ?? {},
      ...(options.maxTurns === undefined ? {} : { max_turns: options.maxTurns }),
    })
    const result = await runLoop(request.messages, {
      model: journaled(model, context),
      runId: context.runId,
      sessionId: context.sessionId,
      maxTurns: request.max_turns,
      ...(options.budgets === undefined ? {} : { budgets: options.budgets }),
      ...(options.instructions === undefined ? {} : { system: options.instructions }),
      ...(options.completionPolicy === undefined ? {} : { completionPolicy: options.completionPolicy }),
      ...(options.shouldContinue === undefined ? {} : { shouldContinue: options.shouldContinue }),
      ...(compaction === undefined ? {} : { compact: (lines) => compact(lines, policy, compaction.summarize) }),
      ...(desk === undefined ? {} : { tools: desk.desk }),
      ...(desk === undefined ? {} : { completionGate: completionGate(desk.rules) }),
      ...(desk === undefined ? {} : { spinGuard: createSpinGuard(desk), failureGuard: createFailureGuard(desk) }),
      context: request.runtime_context,
      onDelta: context.show,
      observers: onEvent === undefined ? [] : [onEvent],
      signal: context.signal,
      monotonicMs: () => performance.now(),
    })
    context.record(linesOf(result, before.length + 1))
    return statusReply(result)
  }
}

/** The policy sees turns of people and agent; without one the model sees its tool calls and their results as well. */
function shown(
  { history }: ModelAgentOptions,
  { sender }: NormalizedMessage,
  context: AgentContext,
): readonly Envelope[] {
  if (history === undefined) return context.transcript
  const { messages } = history({ history: context.history, current: { role: 'user', sender } })
  return messages.map(({ role, parts }) => textLine(role, partsText(parts)))
}

function modelOf({ model, ...settings }: ModelAgentOptions): Model {
  return typeof model === 'function' ? model : aiSdkModel(model, settings)
}

/** What this run added between what was heard and what is said: those two are stored with the turn itself. */
function linesOf({ messages, final_content }: ConversationResult, given: number): readonly Envelope[] {
  const added = messages.slice(given)
  const last = added.findLastIndex((line) => line.type === 'text' && line.role === 'assistant')
  return final_content === '' ? added : added.filter((_, index) => index !== last)
}

/** A model's answer is a step like any other: after a crash it is read from the journal, not asked for again. */
function journaled(model: Model, { step }: AgentContext): Model {
  return async (request) => {
    const { messages, tools, system, turn } = request
    const args = await sha256Of({ messages, system: system ?? null, tools: tools.map((tool) => tool.name) })
    const work = async ({ signal }: { signal: AbortSignal }) => plain(await model({ ...request, signal }))
    return step(`model turn ${turn}`, work, { idempotent: true, args }) as ReturnType<Model>
  }
}

/** JSON, as the journal keeps it: what is absent is absent there too. */
function plain<T>(value: T): never {
  return JSON.parse(JSON.stringify(value)) as never
}
