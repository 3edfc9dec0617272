// The abort signal of a turn: it ends with its lease, or at its deadline, whatever its agent does; and the fetch that ends with it.

import type { OpenTurn } from '../db/turn-rows.ts'
import { GatewayError, isGatewayError } from '../lib/errors.ts'

import type { TurnPolicy } from './turn-policy.ts'

/** A turn that hung once gets less time for its next try. */
export function turnDeadlineMs(policy: Pick<TurnPolicy, 'deadlineMs'>, turn: Pick<OpenTurn, 'isHung'>): number {
  return turn.isHung === true ? policy.deadlineMs / 4 : policy.deadlineMs
}

type TurnSignal = {
  readonly signal: AbortSignal
  /** Lets go of both: a deadline that is no longer needed would stay in memory until it passes. */
  readonly end: () => void
}

export function openTurnSignal(lease: AbortSignal, deadlineMs: number): TurnSignal {
  const controller = new AbortController()
  const abortOnLeaseEnd = (): void => controller.abort(lease.reason)
  const abortOnDeadline = (): void => controller.abort(new DOMException('the turn took too long', 'TimeoutError'))
  const timer = setTimeout(abortOnDeadline, deadlineMs)
  if (lease.aborted) abortOnLeaseEnd()
  else lease.addEventListener('abort', abortOnLeaseEnd, { once: true })
  return {
    signal: controller.signal,
    end() {
      clearTimeout(timer)
      lease.removeEventListener('abort', abortOnLeaseEnd)
    },
  }
}

// Work is abandoned when the signal aborts, since an agent may ignore it.

/** An agent that ignores its signal must not keep its lane: the turn ends without it. */
export async function runUntilAborted<T>(signal: AbortSignal, work: () => Promise<T> | T): Promise<T> {
  if (signal.aborted) throw abortReason(signal)
  const aborted = Promise.withResolvers<never>()
  const rejectOnAbort = (): void => aborted.reject(abortReason(signal))
  signal.addEventListener('abort', rejectOnAbort, { once: true })
  try {
    return await Promise.race([Promise.resolve().then(work), aborted.promise])
  } finally {
    signal.removeEventListener('abort', rejectOnAbort)
  }
}

function abortReason(signal: AbortSignal): unknown {
  const { reason } = signal
  return isGatewayError(reason)
    ? reason
    : new GatewayError('turn_deadline', '[agent] the turn took longer than its deadline')
}

// fetch with a timeout for steps: a server that stays silent ends the request with an error, instead of holding its turn until the
// deadline.

/**
 * `silenceMs`: the longest wait for the head of the response, and then for each piece of its body that is asked for. Not
 * finite: as patient as `send` itself.
 */
export function createTimedFetch(send: typeof fetch, silenceMs: number): typeof fetch {
  if (!Number.isFinite(silenceMs)) return send
  return async (input, init) => {
    const silence = new AbortController()
    const limitSilence = <T>(answer: Promise<T>): Promise<T> => {
      const timer = setTimeout(() => silence.abort(fetchTimeout(silenceMs)), silenceMs)
      return answer
        .catch((error: unknown) => {
          throw silence.signal.aborted ? silence.signal.reason : error
        })
        .finally(() => clearTimeout(timer))
    }
    const given = init?.signal ?? (input instanceof Request ? input.signal : undefined)
    const signal = given == null ? silence.signal : AbortSignal.any([given, silence.signal])
    const response = await limitSilence(send(input, { ...init, signal }))
    return response.body === null ? response : replaceBody(response, response.body, limitSilence)
  }
}

/** Counts only while a piece is waited for: an agent that takes its time between two pieces is not the server's silence. */
function replaceBody(
  response: Response,
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  listen: <T>(answer: Promise<T>) => Promise<T>,
): Response {
  const reader = body.getReader()
  const memberLines = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        const piece = await listen(reader.read())
        if (piece.done) controller.close()
        else controller.enqueue(piece.value)
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
  const { status, statusText, headers, url, redirected } = response
  const copy = new Response(memberLines, { status, statusText, headers })
  return Object.defineProperties(copy, { url: { value: url }, redirected: { value: redirected } })
}

function fetchTimeout(ms: number): GatewayError {
  return new GatewayError(
    'fetch_timeout',
    `[agent] a server was silent for ${ms} ms in the middle of a step; raise turns.fetchTimeoutMs if it needs longer`,
    { retryable: true },
  )
}
