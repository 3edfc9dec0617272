// What is stored about a caller who uses an API without sending a message, read when an access decision is due.
import { noStoredAccess, type StoredAccess } from '../contract/access.ts'
import type { PolicySender } from '../contract/sender.ts'
import { type Db, nameStatement, storableJson } from './client.ts'
import { storedAccessSql } from './stored-access.ts'
import { filterAccessBySender, type LaneAccess } from './turns.ts'

export async function readCallerAccess(db: Db, sender: PolicySender, connection: string): Promise<StoredAccess> {
  const shown = { identities: (sender.identities ?? []).map(({ subject }) => ({ subject })) }
  const [row] = await db.query<{ access: LaneAccess }>(callerAccess, [db.tenant, connection, storableJson(shown)])
  return row === undefined ? noStoredAccess : filterAccessBySender(sender, row.access)
}

// $1 tenant, $2 connection, $3 the sender as JSON.

const callerAccess = nameStatement(
  'caller_access',
  `select ${storedAccessSql({
    tenant: '$1',
    connection: '$2',
    conversation: 'null::uuid',
    rows: `select json_build_object('sender', $3::text::json)::jsonb as message`,
  })} as access`,
)
