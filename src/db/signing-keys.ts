// Keys that signed URLs of files are signed with: generated once, whichever replica asks first, and sealed before they come here.

import { GatewayError } from '../lib/errors.ts'
import type { IdSource } from '../lib/ids.ts'
import { toHex } from '../lib/index.ts'
import { insertAuditLinesSql } from './audit.ts'
import { type Database, nameStatement } from './client.ts'
import type { Seal } from './installations.ts'

export type SigningKey = { readonly id: string; readonly secret: Uint8Array }

/** Keys are rows, so that every replica verifies what another one signed. */
export type SigningKeys = ReturnType<typeof createSigningKeyStore>

export type SigningKeyOptions = {
  readonly tenant: string
  readonly newId: IdSource
  readonly fillRandom: (bytes: Uint8Array<ArrayBuffer>) => void
  readonly seal: Seal
}

const secretBytes = 32
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

type Row = { readonly id: string; readonly secret: string }

/** What a sealed key is bound to: in another tenant, or as another key, it does not open. */
export function signingKeySealContext(tenant: string, id: string): string {
  return JSON.stringify([tenant, 'signing-key', id])
}

export function createSigningKeyStore(database: Database, { tenant, newId, fillRandom, seal }: SigningKeyOptions) {
  const makeSigningKey = async (): Promise<{ readonly id: string; readonly sealed: string }> => {
    const bytes = new Uint8Array(secretBytes)
    fillRandom(bytes)
    const id = newId()
    return { id, sealed: await seal.close(toHex(bytes), signingKeySealContext(tenant, id)) }
  }
  const decryptSigningKey = async ({ id, secret }: Row): Promise<SigningKey> => {
    const hex = await seal.open(secret, signingKeySealContext(tenant, id))
    return { id, secret: hexToBytes(hex) }
  }
  return {
    /** The one to sign with; made at the first call, once, whichever replica asks. */
    async current(): Promise<SigningKey> {
      const [known] = await database.query<Row>(findCurrentKey, [tenant])
      if (known !== undefined) return decryptSigningKey(known)
      const made = await makeSigningKey()
      const [row] = await database.query<Row>(currentKey, [tenant, made.id, made.sealed])
      if (row === undefined)
        throw new GatewayError('storage_unavailable', '[attachments] the signing key was being changed; try again', {
          retryable: true,
        })
      return decryptSigningKey(row)
    },
    /** One to verify with: the current one or one retired within the last hour. Undefined: no replica of ours made it. */
    async find(id: string): Promise<SigningKey | undefined> {
      // An invented id is answered with no; the database would fail, since it is no uuid.
      const [row] = uuid.test(id) ? await database.query<Row>(findKey, [tenant, id]) : []
      return row === undefined ? undefined : decryptSigningKey(row)
    },
    /** A new current key; older handles end within the hour. */
    async rotate(actor: string): Promise<void> {
      const made = await makeSigningKey()
      await database.query(rotateKey, [tenant, made.id, made.sealed, actor])
    },
  }
}

function hexToBytes(hex: string): Uint8Array {
  return Uint8Array.from({ length: hex.length / 2 }, (_, at) => Number.parseInt(hex.slice(at * 2, at * 2 + 2), 16))
}

// The keys of our handles. $1 tenant in all of them.

const key = 'k.id, k.secret'

/** Asked first: a new one is made and sealed only where there is none. */
const findCurrentKey = nameStatement(
  'find_current_signing_key',
  `select ${key} from signing_keys k where k.tenant = $1 and k.retired_at is null`,
)

/** $2 id and $3 secret of a new one, should there be none: the second caller is given the first one's. */
const currentKey = nameStatement(
  'current_signing_key',
  `
with known as materialized (select ${key} from signing_keys k where k.tenant = $1 and k.retired_at is null),
made as (
  insert into signing_keys as k (tenant, id, secret, created_by)
  select $1, $2::uuid, $3, 'gateway' where not exists (select 1 from known)
  on conflict (tenant) where retired_at is null do update set tenant = excluded.tenant
  returning ${key}
)
select id, secret from known union all select id, secret from made`,
)

/** $2 id. What was signed with a retired one is honoured for an hour: no handle lives longer. */
const findKey = nameStatement(
  'find_signing_key',
  `select ${key} from signing_keys k where k.tenant = $1 and k.id = $2
     and (k.retired_at is null or k.retired_at > now() - interval '1 hour')`,
)

/** $2 id, $3 secret, $4 by whom. Of two who do this at once, one does. */
const rotateKey = nameStatement(
  'rotate_signing_key',
  `
with retired as (update signing_keys k set retired_at = now() where k.tenant = $1 and k.retired_at is null returning 1),
old as (delete from signing_keys k where k.tenant = $1 and k.retired_at < now() - interval '1 day'),
made as (
  insert into signing_keys (tenant, id, secret, created_by)
  select $1, $2::uuid, $3, $4::text from (select count(*) as n from retired) done
  on conflict (tenant) where retired_at is null do nothing
  returning tenant, id
),${insertAuditLinesSql({
    from: 'made',
    subject: 'null::text',
    columns: { action: "'signing_key.rotate'", outcome: "'done'", actor: '$4::text', object_id: 'd.id::text' },
  })}
select 1 as rotated from made`,
)
