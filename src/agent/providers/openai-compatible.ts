// A base URL, a key and a model name are enough: any server that speaks the chat completions API.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { LanguageModel } from 'ai'
import type { Secret } from '../../contract/index.ts'

export type OpenAiCompatibleOptions = {
  readonly baseUrl: string
  readonly model: string
  readonly apiKey?: Secret
  readonly fetch?: typeof fetch
}

export function openAiCompatible({ baseUrl, model, apiKey, fetch }: OpenAiCompatibleOptions): LanguageModel {
  const provider = createOpenAICompatible({
    name: 'openai-compatible',
    baseURL: baseUrl,
    includeUsage: true,
    ...(apiKey === undefined ? {} : { apiKey: apiKey.reveal() }),
    ...(fetch === undefined ? {} : { fetch }),
  })
  return provider.chatModel(model)
}
