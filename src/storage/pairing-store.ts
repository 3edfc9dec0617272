// Pairings on SQL. A decision is committed before the messages it frees are touched; both halves may be repeated.
import type { IdSource } from '../contract/index.ts'
import type { PairingDecision, PairingGroup, PairingLine, PairingStore } from '../identity/pairing/pairing-store.ts'
import type { Database, Param } from './database.ts'
import { settleHeldMessages, settlePairedMessages } from './statements/held-messages.ts'
import { askPairingRoom, deletePairingOverflows, listPairingGroups } from './statements/pairing-room.ts'
import { decideKnownPairings, decidePairing, expirePairings, findPairing, listPairings } from './statements/pairings.ts'

/** More than any pairing holds. */
const maxMessages = 1_000
const perRound = 200

export type PeopleOptions = { readonly tenant: string; readonly newId: IdSource }

export function createPairingStore(database: Database, { tenant, newId }: PeopleOptions): PairingStore {
  const findPairingByCode = async (code: string): Promise<PairingLine | undefined> =>
    (await database.query<PairingLine>(findPairing, [tenant, code]))[0]
  const decidePairingByCode = async (code: string, verdict: readonly Param[]): Promise<PairingDecision> => {
    const params = [tenant, code, ...verdict, newId()]
    const [decided] = await database.query<PairingLine>(decidePairing, params)
    const pairing = decided ?? (await findPairingByCode(code))
    if (pairing === undefined) return { kind: 'unknown' }
    // Also when another operator decided: that process may have died before this.
    const messages = await settlePairing(database, pairing.id)
    return decided === undefined ? { kind: 'late', pairing } : { kind: 'decided', pairing, messages }
  }
  return {
    list: ({ status, limit, before }) => database.query<PairingLine>(listPairings, [tenant, status, limit, before]),
    find: findPairingByCode,
    groups: () => database.query<PairingGroup>(listPairingGroups, [tenant]),
    async findRoom({ connection, group, perConnection, perGroup, agent, conversationId, inboxId, traceId }) {
      const about = [agent, conversationId, inboxId, traceId]
      const params = [tenant, connection, group, perConnection, perGroup, ...about]
      const [full] = await database.query<{ fullGroup: string; isNews: boolean }>(askPairingRoom, params)
      return full === undefined
        ? { kind: 'free' }
        : { kind: 'full', group: full.fullGroup || null, isNews: full.isNews }
    },
    approve: (code, { name, subject }, onlyAgent) =>
      decidePairingByCode(code, ['approved', name, subject, 'allow', onlyAgent ?? null]),
    reject: (code, { name, subject }, isBlocked) =>
      decidePairingByCode(code, ['rejected', name, subject, isBlocked ? 'deny' : null, null]),
  }
}

/** After a grant or a link: pairings of that person that it decides. Returns how many messages go on, or end. */
export async function settleKnown(database: Database, tenant: string, subject: string): Promise<number> {
  const decided = await database.query<{ id: string }>(decideKnownPairings, [tenant, subject, perRound])
  let messages = 0
  for (const { id } of decided) messages += await settlePairing(database, id)
  return messages
}

/** The sweeper's round: what has run out, what was settled in another way, and what a dead process left half done. */
export async function sweepPairings(database: Database, tenant: string): Promise<number> {
  await database.query(expirePairings, [perRound, tenant])
  await database.query(decideKnownPairings, [tenant, null, perRound])
  await database.query(deletePairingOverflows, [tenant])
  return countSettledMessages(
    await database.query<Settled>(settleHeldMessages, [maxMessages, database.isShared, tenant]),
  )
}

async function settlePairing(database: Database, id: string): Promise<number> {
  return countSettledMessages(await database.query<Settled>(settlePairedMessages, [maxMessages, database.isShared, id]))
}

type Settled = { readonly released: number; readonly refused: number }

function countSettledMessages([row]: readonly Settled[]): number {
  return (row?.released ?? 0) + (row?.refused ?? 0)
}
