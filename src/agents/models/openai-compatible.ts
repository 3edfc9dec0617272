// A model of any server that speaks the chat completions API: a base URL, a key and a model name are enough.
import type { LanguageModel as SdkModel } from 'ai'
import type { ProbeRequest, ProbeResult } from '../../contract/index.ts'
import type { Secret } from '../../lib/secret.ts'
import { loadAiSdk } from './load-sdk.ts'
import type { LanguageModel } from './model.ts'

export type OpenAiCompatibleOptions = {
  readonly baseUrl: string
  readonly model: string
  readonly apiKey?: Secret
  /** The server takes a JSON Schema for its answer; without it, it is asked for JSON and told the schema in words. */
  readonly structuredOutputs?: boolean
  readonly fetch?: typeof fetch
}

/** How a model stands with its server, asked without a question to the model. */
export type ModelProbe = {
  /** `gpt-x at api.example.org`. */
  readonly name: string
  readonly probe: (request: Pick<ProbeRequest, 'signal'>) => Promise<ProbeResult>
}

/** A model of the AI SDK does not say where its server is. */
const probes = new WeakMap<object, ModelProbe>()

/** Undefined: this model cannot be asked about. */
export function getRegisteredModelProbe(model: unknown): ModelProbe | undefined {
  return typeof model === 'object' && model !== null ? probes.get(model) : undefined
}

type LoadedModel = Extract<SdkModel, { readonly specificationVersion: 'v4' }>

/**
 * A model behind any server that speaks the chat completions API. `keyName`: where the operator sets the key, for what is said about it.
 *
 * @example
 * openAiCompatible({ baseUrl: 'https://api.example.org/v1', model: 'gpt-x', apiKey: secret(key) })
 */
export function openAiCompatible(options: OpenAiCompatibleOptions, keyName = 'apiKey of the model'): LanguageModel {
  const { baseUrl, model, apiKey, structuredOutputs = false, fetch } = options
  let loading: Promise<LoadedModel> | undefined
  // The provider's package is loaded by the first question to the model, not by the configuration that names one.
  const loadProvider = (): Promise<LoadedModel> => {
    loading ??= loadAiSdk().then(({ createOpenAICompatible }) =>
      createOpenAICompatible({
        name: 'openai-compatible',
        baseURL: baseUrl,
        includeUsage: true,
        supportsStructuredOutputs: structuredOutputs,
        ...(apiKey === undefined ? {} : { apiKey: apiKey.reveal() }),
        ...(fetch === undefined ? {} : { fetch }),
      }).chatModel(model),
    )
    return loading
  }
  const made: LoadedModel = {
    specificationVersion: 'v4',
    provider: 'openai-compatible.chat',
    modelId: model,
    supportedUrls: {},
    doGenerate: async (request) => (await loadProvider()).doGenerate(request),
    doStream: async (request) => (await loadProvider()).doStream(request),
  }
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).host : baseUrl
  probes.set(made, { name: `${model} at ${host}`, probe: ({ signal }) => probeModelServer(options, keyName, signal) })
  return made
}

/** A list of models is asked for, which costs nothing. Servers that have none, or are in trouble, say nothing of the key. */
async function probeModelServer(
  { baseUrl, apiKey, fetch: ask = fetch }: OpenAiCompatibleOptions,
  keyName: string,
  signal: AbortSignal,
): Promise<ProbeResult> {
  const headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey.reveal()}` }
  try {
    const response = await ask(`${baseUrl.replace(/\/+$/, '')}/models`, { headers, signal, redirect: 'manual' })
    await response.body?.cancel()
    const { status } = response
    if (status !== 401 && status !== 403)
      return { summary: response.ok ? '' : `(the key is not known to be right: status ${status})`, problems: [] }
    const problem = `${apiKey === undefined ? 'it wants a key' : 'key refused'} (${status})`
    const remedy = `set ${keyName} to a key that this server takes`
    return { summary: '', problems: [{ state: 'failed', reason: 'key_refused', problem, remedy }] }
  } catch (error) {
    const problem = `its server cannot be reached (${signal.aborted ? 'no answer' : readNetworkErrorCode(error)})`
    const remedy = `check the network and ${keyName.startsWith('PARLEY_') ? keyName.replace(/_KEY$/, '_URL') : 'baseUrl of the model'}`
    return { summary: '', problems: [{ state: 'degraded', reason: 'unreachable', problem, remedy }] }
  }
}

/** The words of an error may quote anything; its code does not. */
function readNetworkErrorCode(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? cause.code : undefined
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,60}$/.test(code) ? code : 'no answer'
}
