// The lifecycle of a run as events. Observers see copies; what they throw is told to operators and never matters to the run.

import { cloneForObserver } from '../../contract/copy-for-watcher.ts'
import type { ErrorSource } from '../../lib/errors.ts'
import type { Fields } from '../../lib/json-value.ts'

export const loopEventNames = [
  'tool_declarations_rejected',
  'tool_mediation_disabled',
  'transcript_lock_contention',
  'turn_started',
  'tool_call',
  'tool_result',
  'tool_result_truncated',
  'tool_result_diagnostics',
  'runtime_tool_pending',
  'approval_required',
  'identical_failure_nudged',
  'completion_policy_continue',
  'completion_policy_stop',
  'continuation_message_added',
  'tool_call_gate_completion_blocked',
  'loop_stalled',
  'budget_exceeded',
  'interrupt_received',
  'interrupt_ignored',
  'compaction_started',
  'compaction_completed',
  'compaction_failed',
  'compaction_overflow_archived',
  'provider_retry',
  'model_switched',
  'duplicate_call_corrected',
  'failed',
  'completed',
] as const

export type LoopEventName = (typeof loopEventNames)[number]
export type LoopObserver = (name: LoopEventName, payload: Fields) => void
/** A record kept in the result. */
export type LoopRecord = { readonly type: LoopEventName | string; readonly metadata: Fields }

/** Calls every observer, each guarded on its own: a crash in one does not silence the next. */
export function combineObservers(observers: readonly LoopObserver[], onThrown: Reporter = () => {}): LoopObserver {
  return (name, payload) => {
    for (const observe of observers) {
      // Watching must not change what is watched.
      const reportWatcherError = (error: unknown): void => onThrown(error, { source: 'watcher', name })
      try {
        // An observer may turn out to be asynchronous; its failures come later and matter as little.
        void Promise.resolve(observe(name, payload)).catch(reportWatcherError)
      } catch (error) {
        reportWatcherError(error)
      }
    }
  }
}

type Reporter = (error: unknown, source: ErrorSource) => void

/** What a run tells its own log, and a copy for each watcher. */
export function combineEmitWithWatcher(
  emit: LoopObserver,
  watcher: LoopObserver | undefined,
  onThrown: Reporter,
): LoopObserver {
  if (watcher === undefined) return combineObservers([emit])
  return combineObservers([emit, (name, payload) => watcher(name, cloneForObserver(payload))], onThrown)
}
