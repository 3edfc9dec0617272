// A model server named by a base URL, a model and perhaps a key. The SDK is loaded when it is first asked.
import type { Model } from '../loop/model.ts'
import type { OpenAiCompatibleOptions } from './openai-compatible.ts'

export function lazyModel(options: OpenAiCompatibleOptions): Model {
  let loaded: Promise<Model> | undefined
  const load = async (): Promise<Model> => {
    const [{ aiSdkModel }, { openAiCompatible }] = await Promise.all([
      import('./ai-sdk.ts'),
      import('./openai-compatible.ts'),
    ])
    return aiSdkModel(openAiCompatible(options))
  }
  return async (request) => {
    loaded ??= load()
    return (await loaded)(request)
  }
}
