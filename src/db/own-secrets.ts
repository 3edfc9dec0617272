// Secrets that a gateway generated for itself, for its operator. $1 tenant in all of them.
import { isoTime, statement } from './client.ts'

/** $2 connection, $3 name. The one who uses it makes a new one at its next use. */
export const markOwnKeyStale = statement(
  'mark_own_key_stale',
  `
update connections set sealed_credentials = sealed_credentials || '{"stale": true}'::jsonb
where tenant = $1 and id = $2::text || '#' || $3::text and sealed_credentials ->> 'text' like 'v1.%'
returning 1 as marked`,
)

/** Every sealed one of a tenant. */
export const listOwnKeys = statement(
  'list_own_keys',
  `
select split_part(id, '#', 1) as connection, substr(id, strpos(id, '#') + 1) as name,
  coalesce(sealed_credentials ->> 'since', ${isoTime('created_at')}) as since,
  coalesce((sealed_credentials ->> 'stale')::boolean, false) as "isStale"
from connections where tenant = $1 and strpos(id, '#') > 0 and sealed_credentials ->> 'text' like 'v1.%' order by id`,
)

/** Of the one that signs. */
export const signingKeyAge = statement(
  'signing_key_age',
  `select ${isoTime('k.created_at')} as since from signing_keys k where k.tenant = $1 and k.retired_at is null`,
)
