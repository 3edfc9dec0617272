// What other gateways know us by in a chain of agents: our public address, else a name made once and kept for all replicas. Gateways
// without an address would otherwise all be one, and an agent could not ask its namesake at another.

import type { Database } from '../db/client.ts'
import type { Seal } from '../db/installations.ts'
import { createOwnKeyStore } from '../db/own-keys.ts'

type HostNames = { readonly tenant: string; readonly publicUrl: string | undefined; readonly domain: string }

/** The database is read at the first use, and once. */
export function createOwnHost({ tenant, publicUrl, domain }: HostNames, database: Database): () => Promise<string> {
  if (publicUrl !== undefined) {
    const { origin } = new URL(publicUrl)
    return async () => origin
  }
  const keys = createOwnKeyStore(database, { tenant, connection: 'gateway', agent: '', seal: noSeal })
  let known: Promise<string> | undefined
  const readHostName = async (): Promise<string> => {
    const name = await keys.keep('host', async () => crypto.randomUUID(), 'plain')
    return `http://${name ?? crypto.randomUUID()}.${domain}`
  }
  return () => {
    known ??= readHostName().catch((error: unknown) => {
      known = undefined
      throw error
    })
    return known
  }
}

/** A name is no secret. */
const noSeal: Seal = { close: async (text) => text, open: async (text) => text }
