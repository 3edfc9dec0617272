// Keys that a channel generated for itself, the same for every replica. Sealed before they come here, unless they need no seal.

import type { ChannelKeys, KeyRing } from '../contract/channel.ts'
import { isGatewayError } from '../lib/errors.ts'
import { type Database, isoTimeSql, nameStatement } from './client.ts'
import type { InstallationOptions, Seal } from './installations.ts'

type Row = {
  readonly text: string
  readonly isStale: boolean
  readonly sinceMs: number | null
  readonly former: readonly string[]
}

/** Replicas look again after so long. */
const ringLifeMs = 5_000
/** A new key is shown for so long before it is used: by then every replica shows it. */
const shownFirstMs = 2 * ringLifeMs

/** What a sealed text is bound to: kept for another connection or under another name it does not open. */
export function ownKeySealContext(tenant: string, connection: string, name: string): string {
  return JSON.stringify([tenant, connection, 'own', name])
}

export function createOwnKeyStore(
  database: Database,
  { tenant, connection, agent, seal }: InstallationOptions,
): ChannelKeys {
  const findKeyRow = async (name: string): Promise<Row | undefined> =>
    (await database.query<Row>(findOwnKey, [tenant, connection, name]))[0]
  const readOrMakeKey: ChannelKeys['keep'] = async (name, make, how = 'sealed') => {
    const about = ownKeySealContext(tenant, connection, name)
    const known = await findKeyRow(name)
    if (known !== undefined) return how === 'plain' ? known.text : seal.open(known.text, about)
    const made = await make()
    const kept = how === 'plain' ? made : await sealIfPossible(seal, made, about)
    if (kept === undefined) return undefined
    const [row] = await database.query<Pick<Row, 'text'>>(keepOwnKey, [tenant, connection, name, agent, kept])
    if (row === undefined) return undefined
    return how === 'plain' ? row.text : seal.open(row.text, about)
  }
  const readOrRotateKeyRing = async (
    name: string,
    make: () => Promise<string>,
    formerMs: number,
  ): Promise<KeyRing | undefined> => {
    const about = ownKeySealContext(tenant, connection, name)
    const first = await findKeyRow(name)
    if (first === undefined) {
      const text = await readOrMakeKey(name, make)
      return text === undefined ? undefined : { signing: text, all: [text] }
    }
    if (first.isStale) {
      const sealed = await seal.close(await make(), about)
      await database.query(replaceOwnKey, [tenant, connection, name, first.text, sealed, formerMs])
    }
    const { text, former, sinceMs } = first.isStale ? ((await findKeyRow(name)) ?? first) : first
    const [current = '', ...older] = await Promise.all([text, ...former].map((each) => seal.open(each, about)))
    const isNew = sinceMs !== null && sinceMs < shownFirstMs
    return { signing: isNew ? (older[0] ?? current) : current, all: [current, ...older] }
  }
  const rings = new Map<string, { readonly ring: Promise<KeyRing | undefined>; readonly until: number }>()
  return {
    keep: readOrMakeKey,
    ring(name, make, formerMs) {
      const known = rings.get(name)
      if (known !== undefined && known.until > Date.now()) return known.ring
      const ring = readOrRotateKeyRing(name, make, formerMs)
      rings.set(name, { ring, until: Date.now() + ringLifeMs })
      // What failed is tried again by the next who asks.
      ring.catch(() => rings.delete(name))
      return ring
    },
  }
}

/** Undefined: there is no key to seal with, and nothing is kept in the open instead. */
async function sealIfPossible(seal: Seal, text: string, about: string): Promise<string | undefined> {
  try {
    return await seal.close(text, about)
  } catch (error) {
    if (isGatewayError(error, 'config_invalid')) return undefined
    throw error
  }
}

// One row per key beside its connection. $1 tenant, $2 connection, $3 name in all of them.

const id = "$2::text || '#' || $3::text"

/** `former`: those before it that still count. `sinceMs`: how long ago it replaced them. */
const findOwnKey = nameStatement(
  'find_own_key',
  `
select sealed_credentials ->> 'text' as text,
  coalesce((sealed_credentials ->> 'stale')::boolean, false) as "isStale",
  (extract(epoch from now() - (sealed_credentials ->> 'since')::timestamptz) * 1000)::float8 as "sinceMs",
  coalesce((select jsonb_agg(f ->> 'text') from jsonb_array_elements(sealed_credentials -> 'former') f
    where (f ->> 'until')::timestamptz > now()), '[]'::jsonb) as former
from connections where tenant = $1 and id = ${id}`,
)

/** $4 agent, $5 what is kept. The second writer is given the first one's. */
const keepOwnKey = nameStatement(
  'save_own_key',
  `
with made as (
  insert into connections (tenant, id, channel, agent, status, sealed_credentials)
  values ($1, ${id}, split_part($2::text, '/', 1), $4, 'active', jsonb_build_object('text', $5::text))
  on conflict (tenant, id) do update set tenant = excluded.tenant
  returning sealed_credentials ->> 'text' as text
)
select text from made`,
)

/** $4 the text it replaces, $5 the new one, $6 how long the old one still counts. Of two who do this at once one does. */
const replaceOwnKey = nameStatement(
  'replace_own_key',
  `
update connections set sealed_credentials = jsonb_build_object(
  'text', $5::text,
  'since', ${isoTimeSql('now()')},
  'former', jsonb_build_array(jsonb_build_object('text', $4::text, 'until', ${isoTimeSql("(now() + $6::float8 * interval '1 ms')")}))
    || coalesce((select jsonb_agg(f) from jsonb_array_elements(sealed_credentials -> 'former') f
      where (f ->> 'until')::timestamptz > now()), '[]'::jsonb))
where tenant = $1 and id = ${id} and sealed_credentials ->> 'text' = $4
returning 1 as replaced`,
)

// Secrets that a gateway generated for itself, for its operator. $1 tenant in all of them.

/** $2 connection, $3 name. The one who uses it makes a new one at its next use. */
export const markOwnKeyStale = nameStatement(
  'mark_own_key_stale',
  `
update connections set sealed_credentials = sealed_credentials || '{"stale": true}'::jsonb
where tenant = $1 and id = $2::text || '#' || $3::text and sealed_credentials ->> 'text' like 'v1.%'
returning 1 as marked`,
)

/** Every sealed one of a tenant. */
export const listOwnKeys = nameStatement(
  'list_own_keys',
  `
select split_part(id, '#', 1) as connection, substr(id, strpos(id, '#') + 1) as name,
  coalesce(sealed_credentials ->> 'since', ${isoTimeSql('created_at')}) as since,
  coalesce((sealed_credentials ->> 'stale')::boolean, false) as "isStale"
from connections where tenant = $1 and strpos(id, '#') > 0 and sealed_credentials ->> 'text' like 'v1.%' order by id`,
)

/** Of the one that signs. */
export const signingKeyAge = nameStatement(
  'signing_key_age',
  `select ${isoTimeSql('k.created_at')} as since from signing_keys k where k.tenant = $1 and k.retired_at is null`,
)
