// The keys of our handles on SQL: made once, whichever replica asks first.
import type { SigningKey, SigningKeys } from '../attachments/signing-keys.ts'
import { GatewayError, type IdSource } from '../contract/index.ts'
import type { Database } from './database.ts'
import { currentKey, findKey, rotateKey } from './statements/signing-keys.ts'

export type SigningKeyOptions = {
  readonly tenant: string
  readonly newId: IdSource
  readonly fillRandom: (bytes: Uint8Array<ArrayBuffer>) => void
}

const secretBytes = 32
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

type Row = { readonly id: string; readonly secret: string }

export function createSigningKeys(database: Database, { tenant, newId, fillRandom }: SigningKeyOptions): SigningKeys {
  const newSecret = (): string => {
    const bytes = new Uint8Array(secretBytes)
    fillRandom(bytes)
    return hexOf(bytes)
  }
  return {
    async current() {
      const [row] = await database.query<Row>(currentKey, [tenant, newId(), newSecret()])
      if (row === undefined)
        throw new GatewayError('storage_unavailable', '[attachments] the signing key was being changed; try again', {
          retryable: true,
        })
      return keyOf(row)
    },
    async find(id) {
      // Whoever made up an id is told no; the database would be told that it is no uuid.
      const [row] = uuid.test(id) ? await database.query<Row>(findKey, [tenant, id]) : []
      return row === undefined ? undefined : keyOf(row)
    },
    async rotate(actor) {
      await database.query(rotateKey, [tenant, newId(), newSecret(), actor])
    },
  }
}

function keyOf({ id, secret }: Row): SigningKey {
  const bytes = Array.from({ length: secret.length / 2 }, (_, at) =>
    Number.parseInt(secret.slice(at * 2, at * 2 + 2), 16),
  )
  return { id, secret: new Uint8Array(bytes) }
}

function hexOf(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
