// Chains of callers on SQL.
import type { ChainStore } from '../identity/chain/chain-store.ts'
import type { Database } from './database.ts'
import { visitChain } from './statements/chains.ts'

export function createChainStore(database: Database, tenant: string): ChainStore {
  return {
    async visit({ root, agent, host, depth }) {
      const [row] = await database.query<{ isLoop: boolean }>(visitChain, [tenant, root, agent, host, depth])
      return row?.isLoop ?? false
    },
  }
}
