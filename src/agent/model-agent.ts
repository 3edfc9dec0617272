// An agent that is a model with tools: what a developer declares, and the run that comes of it.
import type { Envelope, HistoricalMessage, NormalizedMessage } from '../contract/index.ts'
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
import { type NamedLines, nameSpeakers } from './messages/name-speakers.ts'
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
    const { lines, note } = shown(options, message, context)
    const system = [options.instructions, note].filter((text) => text !== undefined).join('\n\n')
    const request = conversationRequest({
      messages: lines,
      runtime_context: desk?.context ?? {},
      ...(options.maxTurns === undefined ? {} : { max_turns: options.maxTurns }),
    })
    const result = await runLoop(request.messages, {
      model: journaled(model, context),
      runId: context.runId,
      sessionId: context.sessionId,
      maxTurns: request.max_turns,
      ...(options.budgets === undefined ? {} : { budgets: options.budgets }),
      ...(system === '' ? {} : { system }),
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
    context.record(linesOf(result, lines.length))
    return statusReply(result)
  }
}

/** What came before and what is said now, with the speakers' names where there are several. */
function shown({ history }: ModelAgentOptions, message: NormalizedMessage, context: AgentContext): NamedLines {
  const { sender } = message
  // The policy sees turns of people and agent; without one the model sees its tool calls and their results as well.
  const before =
    history === undefined
      ? context.transcript.map(readable)
      : history({ history: context.history, current: { role: 'user', sender } }).messages.map(spokenLine)
  const isRoom = message.channel?.room_kind === 'group' || message.channel?.room_kind === 'channel'
  return nameSpeakers([...before, spokenLine({ role: 'user', sender, parts: message.parts })], { isRoom })
}

function spokenLine({ role, sender, parts }: Pick<HistoricalMessage, 'role' | 'sender' | 'parts'>): Envelope {
  const { address, display_name } = sender
  return textLine(role, partsText(parts), { sender: { address, display_name } })
}

/** A stored line keeps the text of its parts apart; the model is also told of files and links, as in the turn itself. */
function readable(line: Envelope): Envelope {
  const { parts } = line.payload
  // The codec put them there, of what a message or a reply consisted of.
  return line.type === 'multimodal_part' && Array.isArray(parts) ? { ...line, content: partsText(parts) } : line
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
