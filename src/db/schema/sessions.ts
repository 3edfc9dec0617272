// Sessions and their transcripts; runs and their event log.
import { sql } from 'drizzle-orm'
import {
  bigint,
  boolean,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core'
import { connectionColumn, createdAtColumn, instantColumn, tenantColumn, workspaceColumns } from './columns.ts'

export const sessions = pgTable(
  'sessions',
  {
    id: uuid('id').primaryKey(),
    tenant: tenantColumn(),
    connection: connectionColumn(),
    conversationId: uuid('conversation_id').notNull(),
    agent: text('agent').notNull(),
    owner: text('owner'),
    status: text('status').notNull().default('open'),
    nextSeq: bigint('next_seq', { mode: 'number' }).notNull().default(0),
    /** How often lines of it were erased: a turn that was shown them sees that they are not there any more. */
    erasures: integer('erasures').notNull().default(0),
    provider: text('provider'),
    model: text('model'),
    providerResponseId: text('provider_response_id'),
    title: text('title'),
    metadata: jsonb('metadata').notNull().default(sql`'{}'::jsonb`),
    /** False: there is no consent to keep it, so its transcript is deleted when the session ends. */
    isRetained: boolean('is_retained').notNull().default(true),
    /** The decision about keeping it. */
    consentId: uuid('consent_id'),
    lastReadAt: instantColumn('last_read_at'),
    expiresAt: instantColumn('expires_at'),
    lastActivityAt: instantColumn('last_activity_at').notNull().defaultNow(),
    endedAt: instantColumn('ended_at'),
    createdAt: createdAtColumn(),
    ...workspaceColumns(),
  },
  (t) => [
    index('sessions_conversation').on(t.conversationId),
    index('sessions_owner').on(t.tenant, t.owner, t.id),
    index('sessions_unretained').on(t.expiresAt).where(sql`not is_retained and expires_at is not null`),
  ],
)

/** Append-only envelopes. A deleted message keeps its row and seq; its content becomes a tombstone. */
export const messages = pgTable(
  'messages',
  {
    sessionId: uuid('session_id').notNull(),
    seq: bigint('seq', { mode: 'number' }).notNull(),
    tenant: tenantColumn(),
    turnId: uuid('turn_id'),
    inboxId: uuid('inbox_id'),
    role: text('role').notNull(),
    envelope: jsonb('envelope').notNull(),
    createdAt: createdAtColumn(),
  },
  (t) => [primaryKey({ columns: [t.sessionId, t.seq] }), index('messages_inbox').on(t.inboxId)],
)

/**
 * One per turn that runs an agent, under the turn's id; `run_id` is what the outside calls it. Status: running, then how
 * the run ended, in the vocabulary of `agents-api.run-outcome`.
 */
export const runs = pgTable(
  'runs',
  {
    id: uuid('id').primaryKey(),
    tenant: tenantColumn(),
    runId: text('run_id'),
    turnId: uuid('turn_id').notNull(),
    conversationId: uuid('conversation_id'),
    sessionId: uuid('session_id'),
    agent: text('agent').notNull(),
    /** The principal it runs for: who may stop it. */
    owner: text('owner'),
    /** The run it goes on with, after an approval or a tool's answer from outside. */
    resumes: uuid('resumes'),
    status: text('status').notNull(),
    stopReason: text('stop_reason'),
    usage: jsonb('usage'),
    budgets: jsonb('budgets'),
    /** What the run was made of, without its content. */
    summary: jsonb('summary'),
    cancelRequestedAt: instantColumn('cancel_requested_at'),
    cancelledBy: text('cancelled_by'),
    createdAt: createdAtColumn(),
    endedAt: instantColumn('ended_at'),
    ...workspaceColumns(),
  },
  (t) => [
    index('runs_turn').on(t.turnId),
    uniqueIndex('runs_run_id').on(t.tenant, t.runId, t.conversationId),
    index('runs_created').on(t.tenant, t.createdAt),
    index('runs_resumes').on(t.resumes).where(sql`resumes is not null`),
  ],
)

export const runEvents = pgTable(
  'run_events',
  {
    runId: uuid('run_id').notNull(),
    seq: integer('seq').notNull(),
    key: text('key').notNull(),
    attempt: integer('attempt').notNull().default(1),
    event: jsonb('event').notNull(),
    createdAt: createdAtColumn(),
  },
  (t) => [primaryKey({ columns: [t.runId, t.seq] }), uniqueIndex('run_events_key').on(t.runId, t.key)],
)
