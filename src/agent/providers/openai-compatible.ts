// A base URL, a key and a model name are enough: any server that speaks the chat completions API.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { LanguageModel } from 'ai'
import type { Secret } from '../../contract/index.ts'

export type OpenAiCompatibleOptions = {
  readonly baseUrl: string
  readonly model: string
  readonly apiKey?: Secret
  /** The server takes a JSON Schema for its answer; without it, it is asked for JSON and told the schema in words. */
  readonly structuredOutputs?: boolean
  readonly fetch?: typeof fetch
}

export function openAiCompatible(options: OpenAiCompatibleOptions): LanguageModel {
  const { baseUrl, model, apiKey, structuredOutputs = false, fetch } = options
  const provider = createOpenAICompatible({
    name: 'openai-compatible',
    baseURL: baseUrl,
    includeUsage: true,
    supportsStructuredOutputs: structuredOutputs,
    ...(apiKey === undefined ? {} : { apiKey: apiKey.reveal() }),
    ...(fetch === undefined ? {} : { fetch }),
  })
  return provider.chatModel(model)
}
