// How many messages and calls have come to which end, kept by triggers, so that no query has to count a million rows.
// A change is a row of its own: replicas never wait for each other's counts. The sweeper folds changes into counters.
import { bigint, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { connection, instantColumn, tenant } from './columns.ts'

const what = () => ({
  /** `message`, `call`, `drift` or `crash`. */
  kind: text('kind').notNull(),
  tenant: tenant(),
  connection: connection(),
  state: text('state').notNull(),
  reason: text('reason').notNull().default(''),
})

export const counters = pgTable(
  'counters',
  {
    ...what(),
    /** Rows that stand there now. */
    current: bigint('current', { mode: 'number' }).notNull(),
    /** Times this was ever reached; never falls, also when retention removes the rows. */
    total: bigint('total', { mode: 'number' }).notNull(),
    /** Latest arrival of such a message, latest end of such a call. */
    lastAt: instantColumn('last_at'),
  },
  (t) => [primaryKey({ columns: [t.kind, t.tenant, t.connection, t.state, t.reason] })],
)

export const counterChanges = pgTable('counter_changes', {
  ...what(),
  delta: integer('delta').notNull(),
  at: instantColumn('at'),
})
