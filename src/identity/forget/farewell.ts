// A person has deleted their account on a platform: what they said there before is erased piece by piece, whichever process has time for it. A process
// that dies leaves the rest to the next one, which finds it by the same row.

import type { EraseCursor, ErasingStore } from '../../db/erase-person.ts'
import { erasePerson } from './forget.ts'

/** One subject of one connection, and until when; `epoch` is of the process that holds it now. */
export type AccountDeletion = {
  readonly connection: string
  readonly subject: string
  readonly at: string
  readonly epoch: number
  /** Where the last piece ended; null: nowhere yet. */
  readonly from: EraseCursor | null
}

export interface AccountDeletionStore {
  /** The one that has waited longest, leased to this process for `leaseMs`. */
  claim(leaseMs: number): Promise<AccountDeletion | undefined>
  /** Reaches what this erasure is about, and nothing else. */
  reach(farewell: AccountDeletion): ErasingStore
}

/** Longer than a piece takes: a process slower than that does the same work as the next holder, twice. */
const leaseMs = 120_000

/** How many farewells were gone on with before the time was over. */
export async function processAccountDeletions(
  { store, monotonicMs }: { readonly store: AccountDeletionStore; readonly monotonicMs: () => number },
  budgetMs: number,
): Promise<number> {
  const startedAt = monotonicMs()
  for (let count = 0; ; count += 1) {
    const left = budgetMs - (monotonicMs() - startedAt)
    const farewell = left > 0 ? await store.claim(leaseMs) : undefined
    if (farewell === undefined) return count
    const wish = { principal: farewell.subject, actor: 'gateway', budgetMs: left, from: farewell.from }
    await erasePerson({ store: store.reach(farewell), monotonicMs }, wish)
  }
}
