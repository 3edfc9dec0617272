// Hop 4's port on SQL: the accept statement and what its answer means.
import type { InboxDraft, InboxOutcome, InboxStore } from '../inbound/inbox-store.ts'
import type { Database } from './database.ts'
import { rowVersion } from './row-version.ts'
import { accept } from './statements/accept.ts'
import { storableJson } from './storable-json.ts'

type AcceptRow = {
  readonly ord: number
  readonly insertedId: string | null
  readonly knownId: string | null
  readonly flagged: boolean
  readonly state: string | null
  readonly isBusy: boolean
}

export function createInboxStore(database: Database): InboxStore {
  return {
    async accept(drafts) {
      const rows = await database.accepting.query<AcceptRow>(accept, [numbered(drafts), database.isShared])
      const byOrdinal = new Map(rows.map((row) => [row.ord, row]))
      return drafts.map((_, ord) => outcome(byOrdinal.get(ord)))
    },
  }
}

function numbered(drafts: readonly InboxDraft[]): string {
  return storableJson(drafts.map((draft, ord) => ({ ...draft, ord, v: rowVersion })))
}

function outcome(row: AcceptRow | undefined): InboxOutcome {
  if (row === undefined) return { kind: 'again' }
  if (row.insertedId !== null) {
    const kind = row.state === 'refused' ? 'stale' : 'accepted'
    return { kind, inboxId: row.insertedId, flagged: row.flagged }
  }
  if (row.knownId !== null) return { kind: 'duplicate', inboxId: row.knownId, flagged: false }
  return row.isBusy ? { kind: 'busy' } : { kind: 'again' }
}
