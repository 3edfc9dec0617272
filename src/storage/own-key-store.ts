// What a channel made for itself once, on SQL: the same for every replica. Sealed before it comes here, unless it needs no seal.
import { type ChannelKeys, isGatewayError, type KeyRing } from '../contract/index.ts'
import type { Database } from './database.ts'
import type { InstallationOptions, Seal } from './installation-store.ts'
import { findOwnKey, keepOwnKey, replaceOwnKey } from './statements/own-keys.ts'

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
  const keepKey: ChannelKeys['keep'] = async (name, make, how = 'sealed') => {
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
  const readRing = async (
    name: string,
    make: () => Promise<string>,
    formerMs: number,
  ): Promise<KeyRing | undefined> => {
    const about = ownKeySealContext(tenant, connection, name)
    const first = await findKeyRow(name)
    if (first === undefined) {
      const text = await keepKey(name, make)
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
    keep: keepKey,
    ring(name, make, formerMs) {
      const known = rings.get(name)
      if (known !== undefined && known.until > Date.now()) return known.ring
      const ring = readRing(name, make, formerMs)
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
