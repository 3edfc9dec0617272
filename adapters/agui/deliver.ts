// Delivers by appending to the run's log, under a key that makes repeating it harmless.
import type { Attempt, ChannelDeps, DeliveryResult } from '../../src/contract/index.ts'
import type { AguiCall } from './wire.ts'

export async function deliverAgui(
  runLog: NonNullable<ChannelDeps['runLog']>,
  call: AguiCall,
  attempt: Attempt,
): Promise<DeliveryResult> {
  if (attempt.runId === undefined) return { kind: 'refused', reason: 'no_run_to_answer' }
  try {
    await runLog.append(attempt.runId, attempt.clientId, call.event)
  } catch {
    return { kind: 'retry', reason: 'run_log_unavailable' }
  }
  return { kind: 'delivered', vendorId: attempt.clientId }
}
