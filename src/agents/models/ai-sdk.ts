// One model turn through the AI SDK, any provider. Only calls the provider marked as calls are calls: text that looks
// like one stays text.
import type { LanguageModel as SdkModel, streamText, ToolSet } from 'ai'
import type { RequestedCall, ToolDeclaration } from '../tools/tool.ts'
import { toProviderSafeName } from '../tools/tool-names.ts'
import { loadAiSdk, type Sdk } from './load-sdk.ts'
import type { LanguageModel, Model, ModelRequest, ModelTurn } from './model.ts'
import { loadPictures, toModelMessages } from './model-messages.ts'

export type AiSdkOptions = {
  readonly maxOutputTokens?: number
  readonly temperature?: number
  /** How long the model may say nothing at all, at the start and between two words. */
  readonly modelTimeoutMs?: number
}

/** Longer than a patient person waits, and than a model thinks before its first word. */
const defaultTimeoutMs = 120_000

export function aiSdkModel(model: LanguageModel, options: AiSdkOptions = {}): Model {
  // The SDK prints what providers warn about beside our log, unless the host application has said otherwise.
  Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: Reflect.get(globalThis, 'AI_SDK_LOG_WARNINGS') ?? false })
  return async (request) => {
    const sdk = await loadAiSdk()
    const names = providerToolNames(request.tools)
    const pictures = await loadPictures(request)
    const silence = createSilenceTimeout(options.modelTimeoutMs ?? defaultTimeoutMs)
    const stream = sdk.streamText({
      // The very object that a provider of the SDK made.
      model: model as SdkModel,
      ...(request.system === undefined ? {} : { system: request.system }),
      messages: toModelMessages(request.messages, (name) => names.get(name) ?? toProviderSafeName(name), pictures),
      tools: toSdkToolSet(sdk, request.tools, names),
      ...structuredOutputOption(sdk, request),
      maxRetries: 0,
      abortSignal: AbortSignal.any([request.signal, silence.signal]),
      ...temperatureOption(request, options),
      ...(options.maxOutputTokens === undefined ? {} : { maxOutputTokens: options.maxOutputTokens }),
      // Errors arrive as parts of the stream; printed by the SDK they would show whatever the provider wrote.
      onError: () => {},
    })
    try {
      const turn = await collectModelTurn(stream.fullStream, request, silence)
      return { ...turn, request_metadata: { ...providerField(model), ...turn.request_metadata } }
    } finally {
      silence.end()
    }
  }
}

async function collectModelTurn(
  parts: AsyncIterable<StreamPart>,
  request: ModelRequest,
  silence: Silence,
): Promise<ModelTurn> {
  let content = ''
  let isFinished = false
  let hasBegun = false
  const calls: RequestedCall[] = []
  let usage: Readonly<Record<string, unknown>> = {}
  let metadata: Readonly<Record<string, unknown>> = {}
  for await (const part of parts) {
    silence.broken()
    hasBegun ||= /^(text|reasoning|tool)-/.test(part.type)
    switch (part.type) {
      case 'text-delta':
        content += part.text
        request.onDelta?.(part.text)
        break
      case 'tool-call':
        calls.push(toRequestedCall(part))
        break
      case 'finish-step':
        metadata = { ...responseIdAndModel(part.response), finish_reason: part.finishReason }
        break
      case 'finish':
        isFinished = part.finishReason !== 'error'
        usage = tokenUsage(part.totalUsage)
        break
      case 'error':
        throw hasBegun && isUnfinishedStreamError(part.error) ? streamCutOffError() : part.error
      case 'abort':
        throw silence.signal.aborted ? silence.signal.reason : new DOMException('the turn was stopped', 'AbortError')
    }
  }
  if (!isFinished) throw streamCutOffError()
  if (metadata['finish_reason'] === 'content-filter' && content === '' && calls.length === 0)
    return { failure: contentFiltered, usage, request_metadata: metadata }
  return { content, tool_calls: calls, usage, request_metadata: metadata }
}

/** Without it the run would end silently and the operator would not know why. */
const contentFiltered = {
  type: 'content_filter',
  message: 'The provider declined to answer.',
  retryable: false,
} as const

/** A stream that just ends was cut; half an answer must not pass for a whole one. */
function streamCutOffError(): TypeError {
  return new TypeError('terminated: the stream ended before the answer did')
}

/** What the SDK says of a stream that ended in good order, but without an end of the answer. */
function isUnfinishedStreamError(error: unknown): boolean {
  return error instanceof Error && error.name === 'AI_InvalidResponseDataError'
}

type Silence = { readonly signal: AbortSignal; readonly broken: () => void; readonly end: () => void }

function createSilenceTimeout(maxMs: number): Silence {
  const stop = new AbortController()
  const startSilenceTimer = () =>
    setTimeout(() => stop.abort(new DOMException('the model said nothing', 'TimeoutError')), maxMs)
  let timer = startSilenceTimer()
  return {
    signal: stop.signal,
    broken() {
      clearTimeout(timer)
      timer = startSilenceTimer()
    },
    end: () => clearTimeout(timer),
  }
}

type StreamPart =
  Awaited<ReturnType<typeof streamText<ToolSet>>>['fullStream'] extends AsyncIterable<infer Part> ? Part : never
type CallPart = Extract<StreamPart, { type: 'tool-call' }>

function toRequestedCall(part: CallPart): RequestedCall {
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

function toSdkToolSet(sdk: Sdk, tools: readonly ToolDeclaration[], names: ReadonlyMap<string, string>): ToolSet {
  const entries = tools.map((declared) => [
    names.get(declared.name) ?? declared.name,
    sdk.tool({ description: declared.description, inputSchema: sdk.jsonSchema(parametersSchema(declared)) }),
  ])
  return Object.fromEntries(entries)
}

function parametersSchema({ parameters }: ToolDeclaration): Record<string, unknown> {
  return { type: 'object', properties: {}, ...parameters }
}

function providerToolNames(tools: readonly ToolDeclaration[]): ReadonlyMap<string, string> {
  return new Map(
    tools.map((declared) => [declared.name, declared.provider_safe_name ?? toProviderSafeName(declared.name)]),
  )
}

/** Tells the provider the form; the answer is read and checked on our side. */
function structuredOutputOption(sdk: Sdk, { structuredOutput: form }: ModelRequest) {
  if (form === undefined) return {}
  const name = form.name === undefined ? {} : { name: form.name }
  return { output: sdk.Output.object({ schema: sdk.jsonSchema({ ...form.schema }), ...name }) }
}

function temperatureOption({ model }: ModelRequest, options: AiSdkOptions): { temperature?: number } {
  const temperature = model.temperature ?? options.temperature
  return temperature === undefined ? {} : { temperature }
}

function tokenUsage(usage: {
  inputTokens?: number | undefined
  outputTokens?: number | undefined
  totalTokens?: number | undefined
}) {
  const { inputTokens = 0, outputTokens = 0, totalTokens = inputTokens + outputTokens } = usage
  return { prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: totalTokens }
}

function providerField(model: LanguageModel): Readonly<Record<string, unknown>> {
  return typeof model === 'string' ? {} : { provider: model.provider }
}

function responseIdAndModel(response: { id?: string; modelId?: string }): Readonly<Record<string, unknown>> {
  const { id, modelId } = response
  return {
    ...(id === undefined ? {} : { provider_response_id: id }),
    ...(modelId === undefined ? {} : { model: modelId }),
  }
}
