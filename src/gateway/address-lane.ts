// What waits in a lane, as its agent reads it: addressed to it by name, whichever recipient the adapter chose.
import { formatAddress } from '../contract/index.ts'
import type { WaitingMessage } from '../db/turn-rows.ts'
import { readdressMessage } from '../identity/evidence/addressed-to.ts'
import type { GatewayConnection } from './deps.ts'

/** Where one agent alone answers, its adapter has named it already. */
export function addressRows<Row extends Pick<WaitingMessage, 'message'>>(
  at: GatewayConnection,
  agent: string,
  rows: readonly Row[],
): readonly Row[] {
  if (!at.isShared) return rows
  const address = formatAddress({ local: agent, domain: at.connection.domain })
  return rows.map((row) => ({ ...row, message: readdressMessage(row.message, address) }))
}
