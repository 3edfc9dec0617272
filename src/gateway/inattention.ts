// Who may speak is not always spoken with: what a room says among itself ends here, by rule (hop 6, ruling 29).
import { isUnheeded, unheeded } from '../identity/routing/attention.ts'
import type { Admission } from '../sessions/plan-turn.ts'
import { noGround, type WaitingMessage } from '../sessions/turn-store.ts'
import { isControl } from './commands/table.ts'
import type { GatewayConnection, GatewayDeps } from './deps.ts'
import { namesAgent } from './route-arrival.ts'

/** Undefined: it is for the agent. No access decision: nothing of it goes into the audit log. */
export function inattention(
  deps: Pick<GatewayDeps, 'agents'>,
  at: GatewayConnection,
  row: WaitingMessage,
  takesPart: boolean,
): Admission | undefined {
  const reason = row.event === 'new' ? unheededNow(deps, at, row, takesPart) : unheededBefore(row)
  return reason === undefined ? undefined : { ...noGround, kind: 'refused', reason, mustTell: false }
}

function unheededNow(
  deps: Pick<GatewayDeps, 'agents'>,
  at: GatewayConnection,
  { message, obligation }: WaitingMessage,
  takesPart: boolean,
): string | undefined {
  if (isControl(message)) return undefined
  const isClaimed = obligation !== null || namesAgent(deps, at, message)
  return unheeded(at.attention, { channel: message.channel, isClaimed, takesPart })
}

/** An edit wakes nobody. Taking back what was overheard has work to do all the same: what it said is erased. */
function unheededBefore({ event, original }: WaitingMessage): string | undefined {
  const reason = original?.reason ?? null
  return event === 'edit' && isUnheeded(reason) ? reason : undefined
}
