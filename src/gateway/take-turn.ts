// Hops 5-8 for one held lane, from the claim to the commit that ends its turn.

import type { GatewayEvent } from '../contract/index.ts'
import type { Lease } from '../sessions/lease-keeper.ts'
import type { HeldLane } from '../sessions/turn-store.ts'
import type { GatewayDeps } from './deps.ts'
import { amendmentEnd, answeredEnd, deadEnd, judgeFailure } from './end-turn.ts'
import { prepareTurn, type ReadyTurn } from './prepare-turn.ts'
import { runAgent } from './run-turn.ts'

export type ClaimedLane = { readonly lane: HeldLane; readonly claimedAt: number }

export async function takeTurn(
  deps: GatewayDeps,
  { lane, claimedAt }: ClaimedLane,
  isStopping: () => boolean,
): Promise<void> {
  const at = deps.connections.find((each) => each.key === lane.connection && each.connection.tenant === lane.tenant)
  if (at === undefined) {
    // Not configured here; another replica may know it.
    await deps.turns.release(lane, 5_000, 'untouched')
    return
  }
  const lease = deps.leases.keep(lane, claimedAt)
  try {
    const ready = await prepareTurn(deps, at, lane)
    if (ready !== undefined) await endTurn(deps, ready, lease, isStopping)
  } finally {
    lease.end()
  }
}

async function endTurn(deps: GatewayDeps, ready: ReadyTurn, lease: Lease, isStopping: () => boolean): Promise<void> {
  if (ready.turn.kind === 'amendment') return complete(deps, ready, amendmentEnd(ready))
  if (ready.turn.attempt > deps.turnPolicy.maxAttempts)
    return complete(deps, ready, deadEnd(deps, ready, 'interrupted_too_often'))
  const startedAt = deps.monotonicMs()
  notify(deps, ready, 'channel.processing_started')
  try {
    const result = await runAgent(deps, ready, lease, isStopping).finally(() =>
      notify(deps, ready, 'channel.processing_ended'),
    )
    await complete(deps, ready, answeredEnd(deps, ready, result, Math.round(deps.monotonicMs() - startedAt)))
  } catch (error) {
    await fail(deps, ready, error)
  }
}

async function complete(deps: GatewayDeps, ready: ReadyTurn, end: ReturnType<typeof amendmentEnd>): Promise<void> {
  const isWritten = await deps.turns.complete(ready.lane, end)
  if (!isWritten) deps.log.warn('turn_fenced', { turn: ready.turn.id, epoch: ready.lane.epoch })
  else notify(deps, ready, 'channel.completed')
  deps.bells.sends.ring()
  if (end.state !== 'replied') deps.bells.ends.ring()
}

async function fail(deps: GatewayDeps, ready: ReadyTurn, error: unknown): Promise<void> {
  const step = judgeFailure(deps, ready, error)
  const facts = {
    turn: ready.turn.id,
    attempt: ready.turn.attempt,
    error: error instanceof Error ? error.name : 'error',
    next: step.kind,
  }
  deps.log.warn(step.kind === 'abandon' ? 'turn_fenced' : 'turn_failed', facts)
  switch (step.kind) {
    case 'abandon':
      return
    case 'release':
      await deps.turns.release(ready.lane, step.delayMs, step.cause, step.code)
      return
    case 'split':
      await deps.turns.split(ready.lane, ready.turn.id, step.delayMs, step.code)
      return
    case 'dead':
      return complete(deps, ready, deadEnd(deps, ready, step.reason))
  }
}

function notify(deps: GatewayDeps, ready: ReadyTurn, type: GatewayEvent['type']): void {
  const { lane, turn, members } = ready
  const messageIds = members.map((member) => member.row.messageId)
  const { connection, conversationId, agent } = lane
  deps.notify({ type, connection, conversationId, agent, turnId: turn.id, messageIds })
}
