// The audit log on SQL.
import type { AuditEntry, AuditFilter, AuditStore } from '../identity/audit/audit-store.ts'
import type { Database } from './database.ts'
import { auditPages, recordAudit } from './statements/audit.ts'
import { storableJson } from './storable-json.ts'

/** A fraction of a second, also in a log of years. */
const linesPerLook = 20_000

type Found = { readonly cutAt: number | null; readonly lines: readonly AuditEntry[] }

export function createAuditStore(database: Database, tenant: string): AuditStore {
  return {
    async record(line) {
      await database.query(recordAudit, [tenant, storableJson(line)])
    },
    async list(filter, { limit, before, after }) {
      const isForward = after !== undefined
      const asked = pagesFor(filter)[isForward ? 'on' : 'back']
      const params = [tenant, storableJson(filter), limit, after ?? before ?? null, auditScanLimit(filter, limit)]
      const [{ cutAt, lines } = { cutAt: null, lines: [] }] = await database.query<Found>(asked, params)
      return { lines, next: lines.length < limit ? cutAt : (lines.at(-1)?.seq ?? null) }
    },
  }
}

/** What the indexes answer needs no look at lines that do not fit. */
function auditScanLimit({ subject: _subject, inboxId: _inboxId, ...others }: AuditFilter, limit: number): number {
  return Object.values(others).every((each) => each === undefined) ? limit : linesPerLook
}

function pagesFor({ subject, inboxId }: AuditFilter): (typeof auditPages)[keyof typeof auditPages] {
  if (inboxId !== undefined) return subject === undefined ? auditPages.message : auditPages.both
  return subject === undefined ? auditPages.all : auditPages.person
}
