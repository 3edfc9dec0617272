// Hop 8: delivers by appending to the run's log, under a key that makes repeating it harmless.
import type { Attempt, DeliveryOutcome, RunLog } from '../../../src/contract/index.ts'
import type { A2aCall } from '../wire/objects.ts'

export async function appendReply(runLog: RunLog, call: A2aCall, attempt: Attempt): Promise<DeliveryOutcome> {
  if (attempt.runId === undefined) return { kind: 'refused', reason: 'no_run_to_answer' }
  try {
    await runLog.append(attempt.runId, attempt.clientId, call.event)
  } catch {
    return { kind: 'retry', reason: 'run_log_unavailable' }
  }
  return { kind: 'delivered', vendorId: attempt.clientId }
}
