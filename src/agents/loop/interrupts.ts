// Interrupts of a run: a cancel stops it, anything else is heard in the next turn.

import { GatewayError } from '../../lib/errors.ts'
import type { Fields } from '../../lib/json-value.ts'
import { normalizeMessage, textEnvelope } from '../messages.ts'
import type { LoopOptions } from './options.ts'
import { type RunState, recordLoopEvent, stopRun } from './run-state.ts'

const actionKeys = ['interrupt_action', 'action']

/** True: the run was cancelled and stops here. Asked between turns and between tool calls. */
export async function stopIfCancelled(state: RunState, options: LoopOptions): Promise<boolean> {
  if (state.stop?.status === 'interrupted') return true
  if (options.runControl === undefined || !(await options.runControl.isCancelled())) return false
  markRunCancelled(state, options)
  return true
}

export function markRunCancelled(state: RunState, options: Pick<LoopOptions, 'runId' | 'sessionId'>): void {
  const metadata = {
    type: 'chat_run_interrupt',
    interrupt_action: 'cancel',
    run_id: options.runId,
    session_id: options.sessionId,
  }
  applyInterrupt(state, textEnvelope('user', 'The run was cancelled.', metadata), 'cancel')
}

/** True: there is something new to answer. */
export async function applyPendingInterrupt(state: RunState, options: LoopOptions, context: Fields): Promise<boolean> {
  const given = await options.interruptSource?.(state.messages, context)
  if (given === undefined || given === null) {
    await stopIfCancelled(state, options)
    return false
  }
  try {
    const message = normalizeMessage(given)
    applyInterrupt(state, message, readInterruptAction(message.metadata))
    return true
  } catch {
    state.emit('interrupt_ignored', { reason: 'invalid_message', turn: state.turn })
    return false
  }
}

function applyInterrupt(state: RunState, message: ReturnType<typeof normalizeMessage>, action: string): void {
  state.messages.push(message)
  const rest = Object.entries(message.metadata).filter(([key]) => !actionKeys.includes(key))
  const facts = { ...Object.fromEntries(rest), turn: state.turn, action, message }
  recordLoopEvent(state, 'interrupt_received', facts)
  if (action === 'cancel') stopRun(state, { status: 'interrupted', fields: { interrupted: facts } })
}

function readInterruptAction(metadata: Fields): string {
  const asked = String(metadata['interrupt_action'] ?? metadata['action'] ?? '')
    .trim()
    .toLowerCase()
  return ['cancel', 'redirect', 'message'].includes(asked) ? asked : 'message'
}

// The reason of a stop travels with its abort signal.

/** Asked for by a person, or made necessary by a message of its owner (busy policy `interrupt`). */
export type StopCause = 'stop' | 'interrupt'

/** Marks the line of a message that joined a running turn (busy policy `steer`). */
export const steeredType = 'steered_message'

export function runStoppedError(cause: StopCause): GatewayError {
  return new GatewayError('run_cancelled', '[agent] this run was stopped; nothing more of it begins', {
    details: { cause },
  })
}

/** Undefined: it was not stopped. */
export function readStopCause({ aborted, reason }: AbortSignal): StopCause | undefined {
  if (!aborted) return undefined
  return reason instanceof GatewayError && reason.details['cause'] === 'interrupt' ? 'interrupt' : 'stop'
}
