// The keys of our handles on SQL: made once, whichever replica asks first, and sealed before they come here.
import type { SigningKey, SigningKeys } from '../attachments/signing-keys.ts'
import { GatewayError, type IdSource } from '../contract/index.ts'
import type { Database } from './database.ts'
import type { Seal } from './installation-store.ts'
import { currentKey, findCurrentKey, findKey, rotateKey } from './statements/signing-keys.ts'

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

export function createSigningKeys(
  database: Database,
  { tenant, newId, fillRandom, seal }: SigningKeyOptions,
): SigningKeys {
  const makeSigningKey = async (): Promise<{ readonly id: string; readonly sealed: string }> => {
    const bytes = new Uint8Array(secretBytes)
    fillRandom(bytes)
    const id = newId()
    return { id, sealed: await seal.close(bytesToHex(bytes), signingKeySealContext(tenant, id)) }
  }
  const openSigningKey = async ({ id, secret }: Row): Promise<SigningKey> => {
    const hex = await seal.open(secret, signingKeySealContext(tenant, id))
    return { id, secret: hexToBytes(hex) }
  }
  return {
    async current() {
      const [known] = await database.query<Row>(findCurrentKey, [tenant])
      if (known !== undefined) return openSigningKey(known)
      const made = await makeSigningKey()
      const [row] = await database.query<Row>(currentKey, [tenant, made.id, made.sealed])
      if (row === undefined)
        throw new GatewayError('storage_unavailable', '[attachments] the signing key was being changed; try again', {
          retryable: true,
        })
      return openSigningKey(row)
    },
    async find(id) {
      // An invented id is answered with no; the database would fail, since it is no uuid.
      const [row] = uuid.test(id) ? await database.query<Row>(findKey, [tenant, id]) : []
      return row === undefined ? undefined : openSigningKey(row)
    },
    async rotate(actor) {
      const made = await makeSigningKey()
      await database.query(rotateKey, [tenant, made.id, made.sealed, actor])
    },
  }
}

function hexToBytes(hex: string): Uint8Array {
  return Uint8Array.from({ length: hex.length / 2 }, (_, at) => Number.parseInt(hex.slice(at * 2, at * 2 + 2), 16))
}

function bytesToHex(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
