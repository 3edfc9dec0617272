// Ambient context: what was said in a room where an agent is, and not to it. Kept for a while, for the next time the agent is asked there.
import { bigint, index, integer, jsonb, pgTable, text, uuid } from 'drizzle-orm/pg-core'
import { connectionColumn, instantColumn, tenantColumn } from './columns.ts'

/** The receipt keeps nothing of what was said: this is the only copy, until a turn takes it into its transcript. */
export const ambientContext = pgTable(
  'ambient_context',
  {
    inboxId: uuid('inbox_id').primaryKey(),
    tenant: tenantColumn(),
    connection: connectionColumn(),
    agent: text('agent').notNull(),
    room: text('room').notNull(),
    /** Set where what is said in the room itself begins a thread: what other threads of the room may know of it by. */
    mainLine: text('main_line'),
    conversationId: uuid('conversation_id').notNull(),
    /** The receipt's. */
    seq: bigint('seq', { mode: 'number' }).notNull(),
    subject: text('subject'),
    principal: text('principal').notNull(),
    bytes: integer('bytes').notNull(),
    envelope: jsonb('envelope').notNull(),
    expiresAt: instantColumn('expires_at').notNull(),
  },
  (t) => [
    index('ambient_context_conversation').on(t.conversationId, t.seq),
    index('ambient_context_room').on(t.tenant, t.connection, t.agent, t.room, t.seq),
    index('ambient_context_expiry').on(t.tenant, t.expiresAt),
  ],
)
