// The port of `explain` on SQL.
import type { ExplainStore, Facts, Hit } from '../operator/explain-store.ts'
import type { Database } from './database.ts'
import { explainFacts, searchId, searchNewest } from './statements/explain.ts'

/** Ids without an index are looked for among this many arrivals: a fraction of a second, also on a full table. */
const newestArrivals = 50_000

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export function createExplainStore(database: Database, tenant: string): ExplainStore {
  return {
    search(asked, dedupeKeys, limit) {
      const uuid = uuidPattern.test(asked) ? asked : null
      return database.query<Hit>(searchId, [asked, uuid, JSON.stringify(dedupeKeys), limit, tenant])
    },
    searchNewest: (asked, limit) => database.query<Hit>(searchNewest, [asked, newestArrivals, limit, tenant]),
    async read({ kind, id }) {
      const params = [kind === 'message' ? id : null, kind === 'turn' ? id : null, kind === 'delivery' ? id : null]
      const [facts] = await database.query<Facts>(explainFacts, [...params, tenant])
      return facts ?? { message: null, turns: [], deliveries: [], edits: [], decisions: [] }
    },
  }
}
