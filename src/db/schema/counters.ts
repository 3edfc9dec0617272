// How many messages and calls have come to which end, kept by triggers, so that no query has to count a million rows.
// A change is a row of its own: replicas never wait for each other's counts. The sweeper folds changes into counters.
import { bigint, date, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { connectionColumn, instantColumn, tenantColumn } from './columns.ts'

const counterKeyColumns = () => ({
  /** `message`, `call`, `drift` or `crash`. */
  kind: text('kind').notNull(),
  tenant: tenantColumn(),
  connection: connectionColumn(),
  state: text('state').notNull(),
  reason: text('reason').notNull().default(''),
})

export const counters = pgTable(
  'counters',
  {
    ...counterKeyColumns(),
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
  ...counterKeyColumns(),
  delta: integer('delta').notNull(),
  at: instantColumn('at'),
})

// What people who are not admitted sent in a day to a connection that any server can send to.

const countColumn = (name: string) => bigint(name, { mode: 'number' }).notNull().default(0)

export const strangerUsage = pgTable(
  'stranger_usage',
  {
    tenant: tenantColumn(),
    connection: connectionColumn(),
    /** In UTC. */
    day: date('day').notNull(),
    /** `unproven` or `unknown`. */
    kind: text('kind').notNull(),
    messages: countColumn('messages'),
    /** Bytes as they came, and as they are kept. */
    receivedBytes: countColumn('received_bytes'),
    storedBytes: countColumn('stored_bytes'),
    /** Messages beyond the day's share: answered, and not kept. */
    refused: countColumn('refused'),
  },
  (t) => [primaryKey({ columns: [t.tenant, t.connection, t.day, t.kind] })],
)

// One row per tenant that is written to in order to learn something: whether the database takes writes, and whether its clock goes on.

export const storageProbes = pgTable(
  'storage_probes',
  {
    tenant: tenantColumn(),
    /** When readiness last wrote here. */
    probedAt: instantColumn('probed_at'),
    /** The latest time of the database's clock that a gateway saw. In the future: that clock went back. */
    seenAt: instantColumn('seen_at'),
  },
  (t) => [primaryKey({ columns: [t.tenant] })],
)
