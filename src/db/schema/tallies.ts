// How many messages and calls have come to which end, kept by triggers, so that no query has to count a million rows.
// A change is a row of its own: replicas never wait for each other's counts. The sweeper folds changes into tallies.
import { bigint, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { connection, instantColumn, tenant } from './columns.ts'

const what = () => ({
  /** `message`, `call`, `drift` or `death`. */
  kind: text('kind').notNull(),
  tenant: tenant(),
  connection: connection(),
  state: text('state').notNull(),
  reason: text('reason').notNull().default(''),
})

export const tallies = pgTable(
  'tallies',
  {
    ...what(),
    /** Rows that stand there now. */
    standing: bigint('standing', { mode: 'number' }).notNull(),
    /** Times this was ever reached; never falls, also when retention removes the rows. */
    ever: bigint('ever', { mode: 'number' }).notNull(),
    /** Latest arrival of such a message, latest end of such a call. */
    lastAt: instantColumn('last_at'),
  },
  (t) => [primaryKey({ columns: [t.kind, t.tenant, t.connection, t.state, t.reason] })],
)

export const tallyChanges = pgTable('tally_changes', {
  ...what(),
  delta: integer('delta').notNull(),
  at: instantColumn('at'),
})
