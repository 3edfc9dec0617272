// What is sealed by an older key, page by page, and replaced by the same text sealed anew. $1 tenant, $2 the key of today in all lists;
// a row that was changed meanwhile is left as it is.
import { statement } from '../database.ts'
import { unindexed } from './by-key-alone.ts'

const page = 200

/** Sealed texts begin with their form and their key. */
const isOlder = (column: string): string => `${column}::text ~ ('v1\\.(?!' || $2::text || '\\.)[0-9a-f]{8}\\.')`

/** $3 id. */
export const listOlderConnections = statement(
  'list_older_connections',
  `select id, external_account as account, sealed_credentials as value from connections
   where tenant = $1 and id > $3 and ${isOlder('sealed_credentials')} order by id limit ${page}`,
)

/** $2 id, $3 what it held, $4 what it holds. */
export const resealConnection = statement(
  'reseal_connection',
  `update connections set sealed_credentials = $4::text::jsonb
   where tenant = $1 and id = $2 and sealed_credentials = $3::text::jsonb returning 1 as done`,
)

/** $3 connection, $4 family, $5 key. */
export const listOlderNotes = statement(
  'list_older_notes',
  `select connection, family, key, value from connection_notes
   where tenant = $1 and (connection, family, key) > ($3::text, $4::text, $5::text) and expires_at > now() and ${isOlder('value')}
   order by connection, family, key limit ${page}`,
)

/** $2 connection, $3 family, $4 key, $5 what it held, $6 what it holds. */
export const resealNote = statement(
  'reseal_note',
  `update connection_notes set value = $6::text::jsonb
   where tenant = $1 and connection = $2 and family = $3 and key = $4 and value = $5::text::jsonb returning 1 as done`,
)

/** $3 task, $4 id. */
export const listOlderPushes = statement(
  'list_older_pushes',
  `select p.task_id as "taskId", p.id, t.connection, p.sealed_secrets as value
   from push_configs p join tasks t on t.id = p.task_id and ${unindexed('t.tenant')} = $1
   where p.tenant = $1 and (p.task_id, p.id) > ($3::uuid, $4::text) and ${isOlder('p.sealed_secrets')}
   order by p.task_id, p.id limit ${page}`,
)

/** $2 task, $3 id, $4 what it held, $5 what it holds. */
export const resealPush = statement(
  'reseal_push',
  `update push_configs set sealed_secrets = $5::text::jsonb
   where tenant = $1 and task_id = $2 and id = $3 and sealed_secrets = $4::text::jsonb returning 1 as done`,
)

/** $3 id. */
export const listOlderSigningKeys = statement(
  'list_older_signing_keys',
  `select id, secret as value from signing_keys where tenant = $1 and id > $3::uuid and ${isOlder('secret')} order by id limit ${page}`,
)

/** $2 id, $3 what it held, $4 what it holds. */
export const resealSigningKey = statement(
  'reseal_signing_key',
  `update signing_keys set secret = $4::text where tenant = $1 and id = $2 and secret = $3::text returning 1 as done`,
)
