// What a provider's error means: wait and try again, or tell the person. Its own words stay in the log.
import { asFields } from '../fields.ts'
import type { ModelFailure } from '../loop/model.ts'

/**
 * How long it is worth trying again. `none`: it would fail the same way. `short`: a few times, then the person is told.
 * `long`: the provider is away, and the turn waits for it.
 */
export type Patience = 'none' | 'short' | 'long'

export type Classified = ModelFailure & {
  readonly retryable: boolean
  readonly patience: Patience
  readonly retryAfterSeconds?: number
}

type Kind = Pick<Classified, 'type' | 'message' | 'patience'>

const kinds = {
  rate_limit: { type: 'rate_limit', message: 'The provider asks to slow down.', patience: 'long' },
  network: { type: 'network', message: 'The connection to the provider broke.', patience: 'long' },
  timeout: { type: 'timeout', message: 'The provider did not answer in time.', patience: 'long' },
  provider_error: { type: 'provider_error', message: 'The provider failed.', patience: 'long' },
  invalid_response: { type: 'invalid_response', message: 'The provider sent no answer.', patience: 'short' },
  quota: { type: 'quota', message: 'The quota at the provider is used up.', patience: 'none' },
  authentication: { type: 'authentication', message: 'The provider refused our key.', patience: 'none' },
  not_found: { type: 'not_found', message: 'The provider knows no such model or address.', patience: 'none' },
  context_length: {
    type: 'context_length',
    message: 'The conversation is too long for the model.',
    patience: 'none',
  },
  invalid_request: { type: 'invalid_request', message: 'The provider refused the request.', patience: 'none' },
} as const satisfies Readonly<Record<string, Kind>>

export function classifyFailure(error: unknown): Classified {
  if (isCallError(error)) return classifyByStatus(error)
  if (isAbort(error)) return toClassified(kinds.timeout)
  if (isToldInStream(error)) return classifyByMessage(error)
  if (!(error instanceof Error)) return classifyByMessage(asFields(error))
  // The SDK's errors for what it could not read.
  if (/^AI_(InvalidResponseData|JSONParse|TypeValidation|EmptyResponseBody)/.test(error.name))
    return toClassified(kinds.invalid_response)
  // fetch throws a TypeError for every broken connection, before and in the middle of an answer.
  const isNetwork = error instanceof TypeError || /fetch|network|socket|terminated|ECONN/i.test(String(error))
  return toClassified(isNetwork ? kinds.network : { ...kinds.provider_error, patience: 'none' })
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

function classifyByStatus(error: CallError): Classified {
  const { statusCode: status, responseBody: body = '' } = error
  // A success that could not be read to its end is a broken line.
  if (status === undefined || status < 400) return toClassified(kinds.network)
  return toClassified(
    failureKindByStatus(status, body),
    String(status),
    readRetryAfter(error.responseHeaders?.['retry-after']),
  )
}

function failureKindByStatus(status: number, body: string): Kind {
  if (status === 429) return /insufficient_quota|billing/i.test(body) ? kinds.quota : kinds.rate_limit
  if (status >= 500) return kinds.provider_error
  if (status === 402) return kinds.quota
  if (status === 401 || status === 403) return kinds.authentication
  if (status === 413 || isContextTooLong(body)) return kinds.context_length
  if (status === 404) return kinds.not_found
  // Request timeout, too early: nothing is wrong with the request itself.
  return status === 408 || status === 425 ? kinds.timeout : kinds.invalid_request
}

/** What a provider says in the middle of an answer, after a status of 200. */
type Told = { readonly [key in 'code' | 'type' | 'message' | 'statusCode']?: unknown }

function isToldInStream(error: unknown): error is Error & Told {
  return error instanceof Error && error.name === 'AI_StreamProviderError'
}

function classifyByMessage({ code, type, message, statusCode }: Told): Classified {
  const words = [code, type, message].filter((word) => typeof word === 'string').join(' ')
  const status = Number(statusCode ?? code)
  if (Number.isInteger(status) && status >= 400 && status < 600)
    return toClassified(failureKindByStatus(status, words), `${status}`)
  if (isContextTooLong(words)) return toClassified(kinds.context_length)
  if (/insufficient_quota|billing/i.test(words)) return toClassified(kinds.quota)
  if (/rate.?limit/i.test(words)) return toClassified(kinds.rate_limit)
  return toClassified(/overloaded|server_error|unavailable|timeout/i.test(words) ? kinds.provider_error : unexplained)
}

const unexplained: Kind = { ...kinds.provider_error, patience: 'short' }

/** Every provider has its own words for it. */
function isContextTooLong(text: string): boolean {
  return /context.{0,20}(length|window|size)|too many tokens|(prompt|input|request).{0,20}too (long|large)|maximum.{0,30}tokens/i.test(
    text,
  )
}

function toClassified(kind: Kind, code?: string, retryAfterSeconds?: number): Classified {
  return {
    ...kind,
    retryable: kind.patience !== 'none',
    ...(code === undefined ? {} : { code }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  }
}

/** Seconds or a date, as HTTP allows; anything else is no advice. */
function readRetryAfter(value: string | undefined): number | undefined {
  if (value === undefined) return undefined
  const seconds = Number(value)
  if (Number.isFinite(seconds)) return Math.max(0, seconds)
  const at = Date.parse(value)
  return Number.isNaN(at) ? undefined : Math.max(0, (at - Date.now()) / 1000)
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError')
}
