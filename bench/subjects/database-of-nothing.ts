// The commit replaced by nothing: every statement succeeds at once, and nothing is kept. What is left is our own code.

import { accept, acceptOnce, acceptWithMore } from '../../src/db/accept.ts'
import type { Database, Param, Sql } from '../../src/db/client.ts'

const accepting: readonly string[] = [accept.name, acceptOnce.name, acceptWithMore.name]

export function databaseOfNothing(): Database {
  const sql: Sql = {
    script: async () => {},
    // The rows are those that the accept statements would answer; every other statement finds nothing.
    query: async (statement, params) => (accepting.includes(statement.name) ? acceptedRows(params) : []) as never,
  }
  return {
    isShared: true,
    faults: () => [],
    ...sql,
    accepting: sql,
    observing: sql,
    transaction: (work) => work(sql),
    listen: async () => async () => {},
    close: async () => {},
  }
}

function acceptedRows([drafts]: readonly Param[]): readonly object[] {
  // Drafts are numbered from nought and the number stands behind the content: the last one tells how many there are.
  const text = String(drafts)
  const last = Number.parseInt(text.slice(text.lastIndexOf('"ord":') + 6), 10)
  return Array.from({ length: last + 1 }, (_, ord) => ({
    ord,
    insertedId: '00000000-0000-7000-8000-000000000000',
    knownId: null,
    flagged: false,
    state: 'queued',
    isBusy: false,
  }))
}
