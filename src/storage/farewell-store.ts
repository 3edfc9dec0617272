// Farewells on SQL.
import type { Farewell, FarewellStore } from '../identity/forget/farewell.ts'
import type { ErasingStore, ForgetPlace, Part } from '../identity/forget/forget-store.ts'
import type { Database } from './database.ts'
import { countsOf, createWalk, forgetBatch, receiptEraser } from './forget-store.ts'
import {
  claimFarewell,
  endFarewell,
  leaveAttachments,
  leaveOverheard,
  leavePairings,
  leaveWritten,
  pauseFarewell,
} from './statements/farewells.ts'
import { anAddress } from './statements/forget-reach.ts'
import { strayStatements } from './statements/forget-receipts.ts'
import { storableJson } from './storable-json.ts'

type FarewellRow = Omit<Farewell, 'from'> & ForgetPlace

export function createFarewellStore(database: Database, tenant: string): FarewellStore {
  return {
    async claim(leaseMs) {
      const [row] = await database.query<FarewellRow>(claimFarewell, [tenant, leaseMs])
      if (row === undefined) return undefined
      const { phase, after, ...farewell } = row
      return { ...farewell, from: phase === 'conversations' && after === null ? null : { phase, after } }
    },
    reach: (farewell) => createReach(database, tenant, farewell),
  }
}

function createReach(database: Database, tenant: string, { from: _, ...farewell }: Farewell): ErasingStore {
  const one = countsOf(database, tenant)
  const whom = storableJson(farewell)
  const eraseStrays = receiptEraser(database, tenant, strayStatements)
  return {
    // What an operator linked with it is elsewhere.
    namesOf: async () => [farewell.subject],
    ...createWalk(database, tenant, anAddress, () => whom),
    eraseStrays: (_names, after) => eraseStrays(whom, after),
    eraseOverheard: () => one<Part>(leaveOverheard, whom),
    erasePairings: () => one<Part>(leavePairings, whom),
    eraseAttachments: () => one<Part>(leaveAttachments, whom, forgetBatch),
    eraseWritten: () => one<Part>(leaveWritten, whom),
    async close(_names, { next, removed }) {
      if (next === null) return one<Part>(endFarewell, whom, storableJson(removed))
      await database.query(pauseFarewell, [tenant, whom, storableJson(removed), next.phase, next.after])
      return {}
    },
  }
}
