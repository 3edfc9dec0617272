// Why a run was stopped, as its stop signal carries it.
import { GatewayError } from '../contract/index.ts'

/** Asked for by a person, or made necessary by a message of its owner (busy policy `interrupt`). */
export type StopCause = 'stop' | 'interrupt'

/** Marks the line of a message that joined a running turn (busy policy `steer`). */
export const steeredType = 'steered_message'

export function runStopped(cause: StopCause): GatewayError {
  return new GatewayError('run_cancelled', '[agent] this run was stopped; nothing more of it begins', {
    details: { cause },
  })
}

/** Undefined: it was not stopped. */
export function stopCause({ aborted, reason }: AbortSignal): StopCause | undefined {
  if (!aborted) return undefined
  return reason instanceof GatewayError && reason.details['cause'] === 'interrupt' ? 'interrupt' : 'stop'
}
