// Abandons work when a signal aborts: a turn ends at its deadline, and with its lease, whatever its agent does.
import { GatewayError, isGatewayError } from '../contract/index.ts'

/** An agent that ignores its signal must not keep its lane: the turn ends without it. */
export function abortable<T>(signal: AbortSignal, work: () => Promise<T> | T): Promise<T> {
  return new Promise((resolve, reject) => {
    const rejectOnAbort = (): void => reject(abortReason(signal))
    if (signal.aborted) return rejectOnAbort()
    signal.addEventListener('abort', rejectOnAbort, { once: true })
    Promise.resolve()
      .then(work)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', rejectOnAbort))
  })
}

function abortReason(signal: AbortSignal): unknown {
  const { reason } = signal
  return isGatewayError(reason)
    ? reason
    : new GatewayError('turn_deadline', '[agent] the turn took longer than its deadline')
}
