// The TTL store of a connection: small values shared by replicas, each with an expiry. Secret ones are sealed before they come
// here.

import type { TtlStore } from '../contract/index.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { type Database, nameStatement, storableJson } from './client.ts'
import type { Seal } from './installations.ts'

export type TtlStoreOptions = {
  readonly tenant: string
  /** What rows call the connection, `channel/id`. */
  readonly connection: string
  readonly seal: Seal
}

type Value = { readonly plain: JsonObject } | { readonly sealed: string }

export function createTtlStore(database: Database, { tenant, connection, seal }: TtlStoreOptions): TtlStore {
  const ttlValueSealContext = (family: string, key: string): string =>
    JSON.stringify([tenant, connection, 'note', family, key])
  const decryptTtlValue = async (value: Value, family: string, key: string): Promise<JsonObject> =>
    'plain' in value ? value.plain : JSON.parse(await seal.open(value.sealed, ttlValueSealContext(family, key)))
  return {
    async keep({ family, key, value = {}, lifeMs, isSecret = false, subject, atMost, isOnce = false }) {
      const kept: Value = isSecret
        ? { sealed: await seal.close(JSON.stringify(value), ttlValueSealContext(family, key)) }
        : { plain: value }
      const facts = [storableJson(kept), lifeMs, subject ?? null, atMost ?? null, isOnce]
      return (await database.query(putTtlValue, [tenant, connection, family, key, ...facts])).length > 0
    },
    async read(family, key) {
      const [row] = await database.query<{ value: Value }>(readTtlValue, [tenant, connection, family, key])
      return row === undefined ? undefined : decryptTtlValue(row.value, family, key)
    },
    async take(family, key) {
      const taken = await database.query<{ value: Value; isInTime: boolean }>(takeTtlValue, [
        tenant,
        connection,
        family,
        key,
      ])
      const [row] = taken
      return row === undefined || !row.isInTime ? undefined : decryptTtlValue(row.value, family, key)
    },
  }
}

// $1 tenant, $2 connection, $3 family, $4 key in all of them.

const here = 'tenant = $1 and connection = $2 and family = $3'

/** $5 value (JSON), $6 life in ms, $7 subject or null, $8 at most so many or null, $9 whether one that is there stays. */
const putTtlValue = nameStatement(
  'put_ttl_entry',
  `
insert into ttl_entries as n (tenant, connection, family, key, value, expires_at, subject)
select $1, $2, $3, $4::text, $5::text::jsonb, now() + $6::float8 * interval '1 ms', $7::text
where $8::int is null or (select count(*) from ttl_entries where ${here} and expires_at > now()) < $8::int
on conflict (tenant, connection, family, key) do update
  set value = excluded.value, expires_at = excluded.expires_at, subject = excluded.subject
  where not $9::boolean or n.expires_at <= now()
returning 1 as kept`,
)

const readTtlValue = nameStatement(
  'read_ttl_entry',
  `select value from ttl_entries where ${here} and key = $4 and expires_at > now()`,
)

/** Of two that take it at the same moment one gets it: the other finds the row gone. */
const takeTtlValue = nameStatement(
  'take_ttl_entry',
  `delete from ttl_entries where ${here} and key = $4 returning value, expires_at > now() as "isInTime"`,
)
