// What is stored about a caller who uses an API without sending a message. $1 tenant, $2 connection, $3 the sender as JSON.
import { statement } from '../database.ts'
import { storedAccess } from './stored-access.ts'

export const callerAccess = statement(
  'caller_access',
  `select ${storedAccess({
    tenant: '$1',
    connection: '$2',
    conversation: 'null::uuid',
    rows: `select json_build_object('sender', $3::text::json)::jsonb as message`,
  })} as access`,
)
