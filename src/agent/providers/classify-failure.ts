// What a provider's error means: wait and try again, or tell the person. Its own words stay in the log.
import type { ModelFailure } from '../loop/model.ts'

/** `isTransient`: trying again later may help. */
export type Classified = ModelFailure & { readonly isTransient: boolean; readonly retryAfterSeconds?: number }

export function classifyFailure(error: unknown): Classified {
  if (isCallError(error)) return byStatus(error)
  if (isAbort(error)) return { type: 'timeout', message: 'The provider did not answer in time.', isTransient: true }
  const name = error instanceof Error ? error.name : 'error'
  // fetch throws a TypeError for every broken connection, before and in the middle of an answer.
  const isNetwork = error instanceof TypeError || /fetch|network|socket|terminated|ECONN/i.test(String(error))
  return isNetwork
    ? { type: 'network', message: 'The connection to the provider broke.', isTransient: true }
    : { type: 'provider_error', message: `The provider's answer could not be used (${name}).`, isTransient: false }
}

/** The SDK's error for an answer that is none, by its shape: the SDK itself is loaded where it is used. */
type CallError = Error & {
  readonly statusCode?: number
  readonly responseHeaders?: Readonly<Record<string, string>>
  readonly responseBody?: string
}

function isCallError(error: unknown): error is CallError {
  return error instanceof Error && error.name === 'AI_APICallError'
}

function byStatus(error: CallError): Classified {
  const { statusCode: status } = error
  const code = status === undefined ? {} : { code: String(status) }
  const retryAfterSeconds = retryAfter(error.responseHeaders?.['retry-after'])
  const wait = retryAfterSeconds === undefined ? {} : { retryAfterSeconds }
  if (status === 429)
    return { type: 'rate_limit', message: 'The provider asks to slow down.', isTransient: true, ...code, ...wait }
  // A success that could not be read to its end is a broken line.
  if (status === undefined || status < 400)
    return { type: 'network', message: 'The provider could not be reached.', isTransient: true }
  if (status >= 500)
    return { type: 'provider_error', message: 'The provider failed.', isTransient: true, ...code, ...wait }
  if (status === 401 || status === 403)
    return { type: 'authentication', message: 'The provider refused our key.', isTransient: false, ...code }
  if (status === 413 || /context.{0,20}(length|window)|too many tokens/i.test(error.responseBody ?? ''))
    return {
      type: 'context_length',
      message: 'The conversation is too long for the model.',
      isTransient: false,
      ...code,
    }
  return { type: 'invalid_request', message: 'The provider refused the request.', isTransient: false, ...code }
}

/** Seconds or a date, as HTTP allows; anything else is no advice. */
function retryAfter(value: string | undefined): number | undefined {
  if (value === undefined) return undefined
  const seconds = Number(value)
  if (Number.isFinite(seconds)) return Math.max(0, seconds)
  const at = Date.parse(value)
  return Number.isNaN(at) ? undefined : Math.max(0, (at - Date.now()) / 1000)
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError')
}
