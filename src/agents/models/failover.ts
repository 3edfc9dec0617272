// Retries, error classes and failover of model providers. Retries have two steps: short waits here, while nothing was shown yet;
// then the turn itself waits, by time and not by count, with its lane free for other messages.

import { GatewayError, isGatewayError } from '../../lib/errors.ts'
import { asFields } from '../../lib/index.ts'
import { sleep } from '../../lib/time.ts'
import type { LanguageModel, Model, ModelFailure, ModelTurn } from './model.ts'

export type RetryPolicy = {
  readonly attempts: number
  readonly baseMs: number
  readonly maxMs: number
  /** 0 to 1 of the delay, on top of it. */
  readonly jitter: () => number
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  /** The provider's own error, where the run ends by it. */
  readonly onFailure?: (error: unknown) => void
  /** Another model can answer: one that stays silent is not waited for twice. */
  readonly hasFallback?: boolean
  readonly onRetry?: (facts: { attempt: number; max_attempts: number; delay_seconds: number; type: string }) => void
}

/** What an agent may choose of it. */
export type RetryOptions = Partial<Pick<RetryPolicy, 'attempts' | 'baseMs' | 'maxMs'>>

const defaultRetries: RetryPolicy = {
  attempts: 3,
  baseMs: 1_000,
  maxMs: 8_000,
  jitter: () => Math.random(),
  sleep,
}

export function addRetries(model: Model, changes: Partial<RetryPolicy> = {}): Model {
  const policy = { ...defaultRetries, ...changes }
  return async (request) => {
    let hasShown = false
    const { onDelta } = request
    const watched =
      onDelta === undefined
        ? request
        : {
            ...request,
            onDelta(delta: string) {
              hasShown = true
              onDelta(delta)
            },
          }
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await model(watched)
      } catch (error) {
        request.signal.throwIfAborted()
        const failure = classifyFailure(error)
        const { patience, retryAfterSeconds, ...told } = failure
        if (patience === 'none') {
          policy.onFailure?.(error)
          return { failure: told }
        }
        const waitMs = retryDelayMs(attempt, policy, retryAfterSeconds)
        const isSilent = policy.hasFallback === true && failure.type === 'timeout'
        if (hasShown || isSilent || attempt >= policy.attempts || waitMs > policy.maxMs) {
          if (patience === 'long') throw modelUnavailableError(failure, error)
          policy.onFailure?.(error)
          return { failure: told }
        }
        const facts = { attempt, max_attempts: policy.attempts, delay_seconds: waitMs / 1000, type: failure.type }
        policy.onRetry?.(facts)
        await policy.sleep(waitMs, request.signal)
        request.signal.throwIfAborted()
      }
    }
  }
}

/** What the provider said about when to come back goes along: the turn waits at least that long. */
function modelUnavailableError({ message, type, retryAfterSeconds }: Classified, cause: unknown): GatewayError {
  return new GatewayError('provider_unavailable', `[agent] ${message} The turn waits for it.`, {
    retryable: true,
    details: { type, ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) },
    cause,
  })
}

function retryDelayMs(attempt: number, { baseMs, maxMs, jitter }: RetryPolicy, retryAfterSeconds?: number): number {
  if (retryAfterSeconds !== undefined) return retryAfterSeconds * 1000
  const delay = Math.min(maxMs, baseMs * 2 ** (attempt - 1))
  return Math.min(maxMs, delay * (1 + jitter()))
}

// What a provider's error means: wait and try again, or tell the person. Its own words stay in the log.

/**
 * How long it is worth trying again. `none`: it would fail the same way. `short`: a few times, then the person is told.
 * `long`: the provider is away, and the turn waits for it.
 */
export type Patience = 'none' | 'short' | 'long'

type Classified = ModelFailure & {
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

function classifyFailure(error: unknown): Classified {
  if (isApiCallError(error)) return classifyByStatus(error)
  if (isAbortOrTimeoutError(error)) return toClassifiedFailure(kinds.timeout)
  if (isStreamProviderError(error)) return classifyByMessage(error)
  if (!(error instanceof Error)) return classifyByMessage(asFields(error))
  // The SDK's errors for what it could not read.
  if (/^AI_(InvalidResponseData|JSONParse|TypeValidation|EmptyResponseBody)/.test(error.name))
    return toClassifiedFailure(kinds.invalid_response)
  // fetch throws a TypeError for every broken connection, before and in the middle of an answer.
  const isNetwork = error instanceof TypeError || /fetch|network|socket|terminated|ECONN/i.test(String(error))
  return toClassifiedFailure(isNetwork ? kinds.network : { ...kinds.provider_error, patience: 'none' })
}

/** The SDK's error for an answer that is none, by its shape: the SDK itself is loaded where it is used. */
type CallError = Error & {
  readonly statusCode?: number
  readonly responseHeaders?: Readonly<Record<string, string>>
  readonly responseBody?: string
}

function isApiCallError(error: unknown): error is CallError {
  return error instanceof Error && error.name === 'AI_APICallError'
}

function classifyByStatus(error: CallError): Classified {
  const { statusCode: status, responseBody: body = '' } = error
  // A success that could not be read to its end is a broken line.
  if (status === undefined || status < 400) return toClassifiedFailure(kinds.network)
  return toClassifiedFailure(
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

function isStreamProviderError(error: unknown): error is Error & Told {
  return error instanceof Error && error.name === 'AI_StreamProviderError'
}

function classifyByMessage({ code, type, message, statusCode }: Told): Classified {
  const words = [code, type, message].filter((word) => typeof word === 'string').join(' ')
  const status = Number(statusCode ?? code)
  if (Number.isInteger(status) && status >= 400 && status < 600)
    return toClassifiedFailure(failureKindByStatus(status, words), `${status}`)
  if (isContextTooLong(words)) return toClassifiedFailure(kinds.context_length)
  if (/insufficient_quota|billing/i.test(words)) return toClassifiedFailure(kinds.quota)
  if (/rate.?limit/i.test(words)) return toClassifiedFailure(kinds.rate_limit)
  return toClassifiedFailure(
    /overloaded|server_error|unavailable|timeout/i.test(words) ? kinds.provider_error : unexplained,
  )
}

const unexplained: Kind = { ...kinds.provider_error, patience: 'short' }

/** Every provider has its own words for it. */
function isContextTooLong(text: string): boolean {
  return /context.{0,20}(length|window|size)|too many tokens|(prompt|input|request).{0,20}too (long|large)|maximum.{0,30}tokens/i.test(
    text,
  )
}

function toClassifiedFailure(kind: Kind, code?: string, retryAfterSeconds?: number): Classified {
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

function isAbortOrTimeoutError(error: unknown): boolean {
  return error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError')
}

// Several models in order of preference: the next one answers while those before it are away. One that failed is left alone for a
// while and then tried again, by one request at a time.

export type NamedModel = {
  /** As an operator knows it; no address and no key. */
  readonly name: string
  readonly model: Model
}

/** Told when another model than the one before answers from now on. */
export type ModelSwitch = { readonly from: string; readonly to: string; readonly reason: string }

/** Until when each model is left alone, by its place. Shared by all runs of an agent. */
export type Breaker = {
  readonly restUntil: Map<number, number>
  readonly monotonicMs: () => number
  /** Which model answered last. */
  answeredBy?: string
}

const restMs = 60_000

/** Nothing about the request is wrong, but this model will not answer it. What is wrong with the request is so everywhere. */
const awayTypes: ReadonlySet<string> = new Set(['authentication', 'quota', 'not_found'])

export function createModelBreaker(monotonicMs: () => number): Breaker {
  return { restUntil: new Map(), monotonicMs }
}

export function modelName(model: LanguageModel | Model, place: number): string {
  if (typeof model === 'string') return model
  return typeof model === 'function' ? `model ${place + 1}` : `${model.provider}/${model.modelId}`
}

export function createModelWithFallbacks(
  models: readonly NamedModel[],
  breaker: Breaker,
  onSwitch: (change: ModelSwitch) => void,
): Model {
  const { restUntil, monotonicMs } = breaker
  const [only, ...others] = models
  if (only !== undefined && others.length === 0) return only.model
  const isModelResting = (place: number): boolean => monotonicMs() < (restUntil.get(place) ?? 0)
  return async (request) => {
    let hasShown = false
    const { onDelta } = request
    const forwardDelta = (delta: string): void => {
      hasShown = true
      onDelta?.(delta)
    }
    const watched = onDelta === undefined ? request : { ...request, onDelta: forwardDelta }
    const rested = [...models.entries()].filter(([place]) => !isModelResting(place))
    const order = rested.length === 0 ? [...models.entries()] : rested
    let last: (() => ModelTurn) | undefined
    for (const [index, [place, { name, model }]] of order.entries()) {
      const wasAway = restUntil.has(place)
      // While it is asked whether it is back, the others go on without it.
      if (wasAway) restUntil.set(place, monotonicMs() + restMs)
      const end = await askModelCatchingFailure(model, watched)
      if (end.kind === 'answered') {
        restUntil.delete(place)
        if (wasAway && place === 0) onSwitch({ from: breaker.answeredBy ?? '', to: name, reason: 'back' })
        breaker.answeredBy = name
        return { ...end.turn, request_metadata: { ...end.turn.request_metadata, answered_by: name } }
      }
      restUntil.set(place, monotonicMs() + restMs)
      // An outage is worth waiting for; a refused key is told only where no model is merely away.
      if (last === undefined || end.kind === 'away') last = end.raise
      const next = order[index + 1]?.[1].name
      // Words of another model cannot follow words that were shown: the next try of the turn begins with it.
      if (hasShown || next === undefined) break
      if (!wasAway) onSwitch({ from: name, to: next, reason: end.reason })
    }
    if (last === undefined) throw new Error('there is no model to ask')
    return last()
  }
}

type Asked =
  | { readonly kind: 'answered'; readonly turn: ModelTurn }
  | { readonly kind: 'away' | 'refusing'; readonly reason: string; readonly raise: () => ModelTurn }

async function askModelCatchingFailure(model: Model, request: Parameters<Model>[0]): Promise<Asked> {
  try {
    const turn = await model(request)
    const reason = turn.failure?.type
    if (reason === undefined || !awayTypes.has(reason)) return { kind: 'answered', turn }
    return { kind: 'refusing', reason, raise: () => turn }
  } catch (error) {
    if (request.signal.aborted || !isGatewayError(error, 'provider_unavailable')) throw error
    const rethrowModelError = (): never => {
      throw error
    }
    return { kind: 'away', reason: String(error.details['type'] ?? 'unavailable'), raise: rethrowModelError }
  }
}
