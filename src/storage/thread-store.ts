// Threads on SQL, for those whose they are.
import { cleanText } from '../contract/index.ts'
import type { ThreadLine, ThreadStore } from '../sessions/thread-store.ts'
import type { Database } from './database.ts'
import { readThread } from './statements/threads.ts'
import { storableJson } from './storable-json.ts'

type Row = { readonly threads: number; readonly lines: readonly ThreadLine[] }

export function createThreadStore(database: Database, tenant: string): ThreadStore {
  return {
    async read({ connection, agents, subject, threadId, before, limit }) {
      // Named as it was when it was stored.
      const mark = before === null ? null : cleanText(before)
      const params = [tenant, connection, storableJson(agents), subject, cleanText(threadId), mark, limit]
      const [row] = await database.query<Row>(readThread, params)
      return row === undefined || row.threads === 0 ? undefined : row.lines
    },
  }
}
