// The abort signal of a turn: it ends with its lease, or at its deadline, whatever its agent does.

import { GatewayError, isGatewayError } from '../contract/index.ts'
import type { OpenTurn } from '../db/turn-rows.ts'
import type { TurnPolicy } from './deps.ts'

/** A turn that hung once gets less time for its next try. */
export function turnDeadlineMs(policy: Pick<TurnPolicy, 'deadlineMs'>, turn: Pick<OpenTurn, 'isHung'>): number {
  return turn.isHung === true ? policy.deadlineMs / 4 : policy.deadlineMs
}

export type TurnSignal = {
  readonly signal: AbortSignal
  /** Lets go of both: a deadline that is no longer needed would stay in memory until it passes. */
  readonly end: () => void
}

export function openTurnSignal(lease: AbortSignal, deadlineMs: number): TurnSignal {
  const controller = new AbortController()
  const onLease = (): void => controller.abort(lease.reason)
  const onDeadline = (): void => controller.abort(new DOMException('the turn took too long', 'TimeoutError'))
  const timer = setTimeout(onDeadline, deadlineMs)
  if (lease.aborted) onLease()
  else lease.addEventListener('abort', onLease, { once: true })
  return {
    signal: controller.signal,
    end() {
      clearTimeout(timer)
      lease.removeEventListener('abort', onLease)
    },
  }
}

// Work is abandoned when the signal aborts, since an agent may ignore it.

/** An agent that ignores its signal must not keep its lane: the turn ends without it. */
export function runUntilAborted<T>(signal: AbortSignal, work: () => Promise<T> | T): Promise<T> {
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
