// One row per tenant that is written to in order to learn something: whether the database takes writes, and whether its clock goes on.
import { pgTable, primaryKey } from 'drizzle-orm/pg-core'
import { instantColumn, tenant } from './columns.ts'

export const storageProbes = pgTable(
  'storage_probes',
  {
    tenant: tenant(),
    /** When readiness last wrote here. */
    probedAt: instantColumn('probed_at'),
    /** The latest time of the database's clock that a gateway saw. In the future: that clock went back. */
    seenAt: instantColumn('seen_at'),
  },
  (t) => [primaryKey({ columns: [t.tenant] })],
)
