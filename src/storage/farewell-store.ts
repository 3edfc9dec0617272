// Farewells on SQL.
import type { AccountDeletion, AccountDeletionStore } from '../identity/forget/farewell.ts'
import type { EraseCursor, ErasingStore, PartialErasedCounts } from '../identity/forget/forget-store.ts'
import type { Database } from './database.ts'
import { createCountQuery, createWalk, eraseBatchSize, receiptEraser } from './forget-store.ts'
import {
  claimAccountDeletion,
  endAccountDeletion,
  eraseLeaverAmbient,
  leaveAttachments,
  leavePairings,
  leaveWritten,
  pauseAccountDeletion,
} from './statements/farewells.ts'
import { anAddress } from './statements/forget-reach.ts'
import { strayStatements } from './statements/forget-receipts.ts'
import { storableJson } from './storable-json.ts'

type AccountDeletionRow = Omit<AccountDeletion, 'from'> & EraseCursor

export function createAccountDeletionStore(database: Database, tenant: string): AccountDeletionStore {
  return {
    async claim(leaseMs) {
      const [row] = await database.query<AccountDeletionRow>(claimAccountDeletion, [tenant, leaseMs])
      if (row === undefined) return undefined
      const { phase, after, ...farewell } = row
      return { ...farewell, from: phase === 'conversations' && after === null ? null : { phase, after } }
    },
    reach: (farewell) => createReach(database, tenant, farewell),
  }
}

function createReach(database: Database, tenant: string, { from: _, ...farewell }: AccountDeletion): ErasingStore {
  const one = createCountQuery(database, tenant)
  const whom = storableJson(farewell)
  const eraseStrays = receiptEraser(database, tenant, strayStatements)
  return {
    // What an operator linked with it is elsewhere.
    namesOf: async () => [farewell.subject],
    ...createWalk(database, tenant, anAddress, () => whom),
    eraseStrays: (_names, after) => eraseStrays(whom, after),
    eraseOverheard: () => one<PartialErasedCounts>(eraseLeaverAmbient, whom),
    erasePairings: () => one<PartialErasedCounts>(leavePairings, whom),
    eraseAttachments: () => one<PartialErasedCounts>(leaveAttachments, whom, eraseBatchSize),
    eraseWritten: () => one<PartialErasedCounts>(leaveWritten, whom),
    async close(_names, { next, removed }) {
      if (next === null) return one<PartialErasedCounts>(endAccountDeletion, whom, storableJson(removed))
      await database.query(pauseAccountDeletion, [tenant, whom, storableJson(removed), next.phase, next.after])
      return {}
    },
  }
}
