// One model turn through the AI SDK, any provider. Only calls the provider marked as calls are calls: text that looks
// like one stays text.
import { jsonSchema, type LanguageModel, streamText, type ToolSet, tool } from 'ai'
import type { Model, ModelRequest, ModelTurn } from '../loop/model.ts'
import type { RequestedCall, ToolDeclaration } from '../tools/tool.ts'
import { toModelMessages } from './to-model-messages.ts'

export type AiSdkOptions = { readonly maxOutputTokens?: number; readonly temperature?: number }

export function aiSdkModel(model: LanguageModel, options: AiSdkOptions = {}): Model {
  return async (request) => {
    const names = safeNames(request.tools)
    const stream = streamText({
      model,
      ...(request.system === undefined ? {} : { system: request.system }),
      messages: toModelMessages(request.messages, (name) => names.get(name) ?? name),
      tools: toolSet(request.tools, names),
      maxRetries: 0,
      abortSignal: request.signal,
      ...temperatureOf(request, options),
      ...(options.maxOutputTokens === undefined ? {} : { maxOutputTokens: options.maxOutputTokens }),
      // Errors arrive as parts of the stream; printed by the SDK they would show whatever the provider wrote.
      onError: () => {},
    })
    return collect(stream.fullStream, request)
  }
}

async function collect(parts: AsyncIterable<StreamPart>, request: ModelRequest): Promise<ModelTurn> {
  let content = ''
  let isFinished = false
  const calls: RequestedCall[] = []
  let usage: Readonly<Record<string, unknown>> = {}
  let metadata: Readonly<Record<string, unknown>> = {}
  for await (const part of parts) {
    switch (part.type) {
      case 'text-delta':
        content += part.text
        request.onDelta?.(part.text)
        break
      case 'tool-call':
        calls.push(requestedCall(part))
        break
      case 'finish-step':
        metadata = { ...responseFacts(part.response), finish_reason: part.finishReason }
        break
      case 'finish':
        isFinished = part.finishReason !== 'error'
        usage = usageOf(part.totalUsage)
        break
      case 'error':
        throw part.error
      case 'abort':
        throw new DOMException('the turn was stopped', 'AbortError')
    }
  }
  // A stream that just ends was cut; half an answer must not pass for a whole one.
  if (!isFinished) throw new TypeError('terminated: the stream ended before the answer did')
  return { content, tool_calls: calls, usage, request_metadata: metadata }
}

type StreamPart =
  Awaited<ReturnType<typeof streamText<ToolSet>>>['fullStream'] extends AsyncIterable<infer Part> ? Part : never
type CallPart = Extract<StreamPart, { type: 'tool-call' }>

function requestedCall(part: CallPart): RequestedCall {
  const isMap = typeof part.input === 'object' && part.input !== null && !Array.isArray(part.input)
  const isBroken = !isMap
  return {
    name: part.toolName,
    id: part.toolCallId,
    // A map by the test above.
    parameters: isMap ? (part.input as Record<string, unknown>) : {},
    ...(isBroken ? { metadata: { invalid_arguments: true } } : {}),
  }
}

function toolSet(tools: readonly ToolDeclaration[], names: ReadonlyMap<string, string>): ToolSet {
  const entries = tools.map((declared) => [
    names.get(declared.name) ?? declared.name,
    tool({ description: declared.description, inputSchema: jsonSchema(schemaOf(declared)) }),
  ])
  return Object.fromEntries(entries)
}

function schemaOf({ parameters }: ToolDeclaration): Record<string, unknown> {
  return { type: 'object', properties: {}, ...parameters }
}

function safeNames(tools: readonly ToolDeclaration[]): ReadonlyMap<string, string> {
  return new Map(tools.map((declared) => [declared.name, declared.provider_safe_name ?? declared.name]))
}

function temperatureOf({ model }: ModelRequest, options: AiSdkOptions): { temperature?: number } {
  const temperature = model.temperature ?? options.temperature
  return temperature === undefined ? {} : { temperature }
}

function usageOf(usage: {
  inputTokens?: number | undefined
  outputTokens?: number | undefined
  totalTokens?: number | undefined
}) {
  const { inputTokens = 0, outputTokens = 0, totalTokens = inputTokens + outputTokens } = usage
  return { prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: totalTokens }
}

function responseFacts(response: { id?: string; modelId?: string }): Readonly<Record<string, unknown>> {
  const { id, modelId } = response
  return {
    ...(id === undefined ? {} : { provider_response_id: id }),
    ...(modelId === undefined ? {} : { model: modelId }),
  }
}
