// Chains of callers on SQL.
import type { ChainStore } from '../identity/chain/chain-store.ts'
import type { Database } from './database.ts'
import { chainTurns, visitChain } from './statements/chains.ts'

export function createChainStore(database: Database, tenant: string): ChainStore {
  return {
    async visit({ root, agent, host, depth }) {
      const [row] = await database.query<{ isLoop: boolean }>(visitChain, [tenant, root, agent, host, depth])
      return row?.isLoop ?? false
    },
    async turnsWith(inboxId, { root, agent, host }) {
      const [row] = await database.query<{ turns: number }>(chainTurns, [tenant, inboxId, root, agent, host])
      return row?.turns ?? 0
    },
  }
}
