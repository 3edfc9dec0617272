// An open request that waits for its answer. It only reads: what it waits for happens with or without it.
import type { WatchResult } from '../contract/index.ts'
import type { GatewayDeps } from '../turns/deps.ts'

const pollMs = 500

export async function waitForAnswer(deps: GatewayDeps, inboxId: string, timeoutMs: number): Promise<WatchResult> {
  const until = deps.monotonicMs() + timeoutMs
  for (;;) {
    const receipt = await deps.receipts.find(inboxId)
    if (receipt === undefined) return { kind: 'ended', state: 'unknown', reason: 'not_found' }
    const { state, reason, resumed } = receipt
    // A run that says nothing after it was decided about leaves the words about the decision.
    const response = resumed?.response ?? receipt.response
    if (state === 'held') return { kind: 'held', response, reason: reason ?? state }
    const isGoingOn = resumed !== null && (resumed.state === 'queued' || resumed.state === 'running')
    const hasEnded = state !== 'queued' && state !== 'in_turn' && !isGoingOn
    // A refused sender's notice is no answer to what they asked.
    if (hasEnded && response !== null && state !== 'refused')
      return { kind: 'answered', response, runId: receipt.runId ?? receipt.turnId ?? inboxId }
    if (hasEnded) return { kind: 'ended', state, reason: reason ?? state }
    const leftMs = until - deps.monotonicMs()
    if (leftMs <= 0) return { kind: 'pending' }
    await deps.wakeups.ends.wait(Math.min(pollMs, leftMs))
  }
}
