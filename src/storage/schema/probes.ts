// One row per tenant that readiness writes to: whether the database takes writes is known by writing.
import { pgTable, primaryKey } from 'drizzle-orm/pg-core'
import { instant, tenant } from './columns.ts'

export const storageProbes = pgTable(
  'storage_probes',
  {
    tenant: tenant(),
    /** By the database's clock. In the future: that clock went back. */
    probedAt: instant('probed_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.tenant] })],
)
