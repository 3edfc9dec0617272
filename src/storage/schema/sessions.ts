// Sessions and their transcripts; runs and their event log.
import { bigint, index, integer, jsonb, pgTable, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { connection, createdAt, instant, tenant, workspace } from './columns.ts'

export const sessions = pgTable(
  'sessions',
  {
    id: uuid('id').primaryKey(),
    tenant: tenant(),
    connection: connection(),
    conversationId: uuid('conversation_id').notNull(),
    agent: text('agent').notNull(),
    owner: text('owner'),
    status: text('status').notNull().default('open'),
    nextSeq: bigint('next_seq', { mode: 'number' }).notNull().default(0),
    provider: text('provider'),
    model: text('model'),
    providerResponseId: text('provider_response_id'),
    lastActivityAt: instant('last_activity_at').notNull().defaultNow(),
    endedAt: instant('ended_at'),
    createdAt: createdAt(),
    ...workspace(),
  },
  (t) => [index('sessions_conversation').on(t.conversationId)],
)

/** Append-only envelopes. A deleted message keeps its row and seq; its content becomes a tombstone. */
export const messages = pgTable(
  'messages',
  {
    sessionId: uuid('session_id').notNull(),
    seq: bigint('seq', { mode: 'number' }).notNull(),
    tenant: tenant(),
    turnId: uuid('turn_id'),
    inboxId: uuid('inbox_id'),
    role: text('role').notNull(),
    envelope: jsonb('envelope').notNull(),
    createdAt: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.sessionId, t.seq] }), index('messages_inbox').on(t.inboxId)],
)

export const runs = pgTable(
  'runs',
  {
    id: uuid('id').primaryKey(),
    tenant: tenant(),
    turnId: uuid('turn_id').notNull(),
    sessionId: uuid('session_id'),
    agent: text('agent').notNull(),
    status: text('status').notNull(),
    stopReason: text('stop_reason'),
    usage: jsonb('usage'),
    budgets: jsonb('budgets'),
    createdAt: createdAt(),
    endedAt: instant('ended_at'),
    ...workspace(),
  },
  (t) => [index('runs_turn').on(t.turnId)],
)

export const runEvents = pgTable(
  'run_events',
  {
    runId: uuid('run_id').notNull(),
    seq: integer('seq').notNull(),
    key: text('key').notNull(),
    attempt: integer('attempt').notNull().default(1),
    event: jsonb('event').notNull(),
    createdAt: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.runId, t.seq] }), uniqueIndex('run_events_key').on(t.runId, t.key)],
)
