// What is written down about a caller on SQL, read when a decision is due.
import { noStoredAccess, type PolicySender, type StoredAccess } from '../contract/index.ts'
import type { Database } from './database.ts'
import { aboutSender, type LaneAccess } from './spread-access.ts'
import { callerAccess } from './statements/caller-access.ts'
import { storableJson } from './storable-json.ts'

export type ReadCallerAccess = (sender: PolicySender, connection: string) => Promise<StoredAccess>

export function createCallerAccess(database: Database, tenant: string): ReadCallerAccess {
  return async (sender, connection) => {
    const shown = { identities: (sender.identities ?? []).map(({ subject }) => ({ subject })) }
    const [row] = await database.query<{ access: LaneAccess }>(callerAccess, [tenant, connection, storableJson(shown)])
    return row === undefined ? noStoredAccess : aboutSender(sender, row.access)
  }
}
