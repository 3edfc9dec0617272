// What people who are not admitted sent in a day to a connection that any server can send to.
import { bigint, date, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { connection, tenant } from './columns.ts'

const countColumn = (name: string) => bigint(name, { mode: 'number' }).notNull().default(0)

export const strangerUsage = pgTable(
  'stranger_usage',
  {
    tenant: tenant(),
    connection: connection(),
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
