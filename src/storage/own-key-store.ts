// What a channel made for itself once, on SQL: the same for every replica. Sealed before it comes here, unless it needs no seal.
import { type ChannelKeys, isGatewayError } from '../contract/index.ts'
import type { Database } from './database.ts'
import type { InstallationOptions, Seal } from './installation-store.ts'
import { findOwnKey, keepOwnKey } from './statements/own-keys.ts'

type Row = { readonly text: string }

export function createOwnKeys(
  database: Database,
  { tenant, connection, agent, seal }: InstallationOptions,
): ChannelKeys {
  return {
    async keep(name, make, how = 'sealed') {
      const about = JSON.stringify([tenant, connection, 'own', name])
      const [known] = await database.query<Row>(findOwnKey, [tenant, connection, name])
      if (known !== undefined) return how === 'plain' ? known.text : seal.open(known.text, about)
      const made = await make()
      const kept = how === 'plain' ? made : await closed(seal, made, about)
      if (kept === undefined) return undefined
      const [row] = await database.query<Row>(keepOwnKey, [tenant, connection, name, agent, kept])
      if (row === undefined) return undefined
      return how === 'plain' ? row.text : seal.open(row.text, about)
    },
  }
}

/** Undefined: there is no key to seal with, and nothing is kept in the open instead. */
async function closed(seal: Seal, text: string, about: string): Promise<string | undefined> {
  try {
    return await seal.close(text, about)
  } catch (error) {
    if (isGatewayError(error, 'config_invalid')) return undefined
    throw error
  }
}
