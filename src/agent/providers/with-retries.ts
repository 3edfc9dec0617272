// Retries of a model provider, in two steps: short waits here, while nothing was shown yet; then the turn itself waits, by
// time and not by count, with its lane free for other messages.
import { GatewayError } from '../../contract/index.ts'
import type { Model } from '../loop/model.ts'
import { type Classified, classifyFailure } from './classify-failure.ts'

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
  sleep: sleepUnlessAborted,
}

export function withRetries(model: Model, changes: Partial<RetryPolicy> = {}): Model {
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
          if (patience === 'long') throw modelUnavailable(failure, error)
          policy.onFailure?.(error)
          return { failure: told }
        }
        const facts = { attempt, max_attempts: policy.attempts, delay_seconds: waitMs / 1000, type: failure.type }
        policy.onRetry?.(facts)
        await policy.sleep(waitMs, request.signal)
      }
    }
  }
}

/** What the provider said about when to come back goes along: the turn waits at least that long. */
function modelUnavailable({ message, type, retryAfterSeconds }: Classified, cause: unknown): GatewayError {
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

function sleepUnlessAborted(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abortSleep = (): void => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', abortSleep)
      resolve()
    }, ms)
    signal.addEventListener('abort', abortSleep, { once: true })
  })
}
