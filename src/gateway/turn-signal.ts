// When a turn has to end whatever its agent does: with its lease, or at its deadline.
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
