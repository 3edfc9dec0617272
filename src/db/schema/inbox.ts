// What arrived: one row per message, kept as its receipt; how often it came again; tombstones for messages withdrawn
// before they came.
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

/** States: queued, in_turn, held, answered, merged, refused, dead; outside the ledger: ignored. */
export const inbox = pgTable(
  'inbox',
  {
    id: uuid('id').primaryKey(),
    seq: bigint('seq', { mode: 'number' }).generatedAlwaysAsIdentity(),
    tenant: tenantColumn(),
    connection: connectionColumn(),
    /** Hash over tenant, connection and key: one column, so that one index is the only way to look it up. */
    dedupeKey: text('dedupe_key').notNull(),
    contentHash: text('content_hash').notNull(),
    isFlagged: boolean('is_flagged').notNull().default(false),
    v: integer('v').notNull(),
    kind: text('kind').notNull(),
    agent: text('agent').notNull(),
    recipient: text('recipient'),
    subject: text('subject'),
    principal: text('principal'),
    /** The access rule that admitted or refused it; null while access was not decided. */
    accessRule: text('access_rule'),
    /** The pairing that decides, or decided, what becomes of it. */
    pairingId: uuid('pairing_id'),
    conversationId: uuid('conversation_id'),
    state: text('state').notNull(),
    reason: text('reason'),
    mustReplyIndividually: text('must_reply_individually'),
    messageId: text('message_id'),
    deliveryId: text('delivery_id'),
    event: text('event').notNull().default('new'),
    editOf: text('edit_of'),
    message: jsonb('message'),
    raw: jsonb('raw'),
    blob: uuid('blob'),
    replyTo: jsonb('reply_to'),
    bytes: integer('bytes').notNull().default(0),
    platformAt: instantColumn('platform_at'),
    receivedAt: instantColumn('received_at').notNull().defaultNow(),
    endedAt: instantColumn('ended_at'),
    turnId: uuid('turn_id'),
    turnOrder: integer('turn_order'),
    /** It joined a turn that ran already, at this question of its agent for news; null: the turn began with it. */
    joinedAtPoll: integer('joined_at_poll'),
    attempts: integer('attempts').notNull().default(0),
    /** Set after a failed merge: this message runs alone from now on. */
    runsAlone: boolean('runs_alone').notNull().default(false),
    parentTurn: uuid('parent_turn'),
    /** Its turn died and is tried again, with its journal. */
    continuesTurn: boolean('continues_turn').notNull().default(false),
    /** The task it asks for or goes on with. */
    taskId: uuid('task_id'),
    traceId: text('trace_id').notNull(),
    ...workspaceColumns(),
  },
  (t) => [
    uniqueIndex('inbox_claim').on(t.dedupeKey, t.contentHash),
    index('inbox_waiting').on(t.conversationId, t.seq).where(sql`state = 'queued'`),
    index('inbox_held').on(t.pairingId).where(sql`state = 'held'`),
    index('inbox_turn').on(t.turnId).where(sql`turn_id is not null`),
    index('inbox_task').on(t.taskId, t.seq).where(sql`task_id is not null`),
    index('inbox_message_id').on(t.tenant, t.connection, t.messageId),
    index('inbox_edits').on(t.tenant, t.connection, t.editOf).where(sql`edit_of is not null`),
    index('inbox_state').on(t.tenant, t.state, t.seq).where(sql`state in ('dead', 'ignored')`),
    // A message is in the one until its content is forgotten, and in the other until its receipt is: the sweeper reads past neither.
    index('inbox_content')
      .on(t.tenant, t.endedAt)
      .where(sql`ended_at is not null and (message is not null or raw is not null)`),
    // What was refused or asked for nothing loses its content much sooner than the rest.
    index('inbox_refused')
      .on(t.tenant, t.endedAt)
      .where(sql`state in ('refused', 'ignored') and (message is not null or raw is not null)`),
    // What nothing proved, and what belongs to no conversation: its receipts go sooner as well.
    index('inbox_unproven')
      .on(t.tenant, t.endedAt)
      .where(
        sql`state = 'refused' and conversation_id is null and subject is null and message is null and raw is null`,
      ),
    index('inbox_emptied').on(t.tenant, t.endedAt).where(sql`ended_at is not null and message is null and raw is null`),
    // Messages of senders who are in no conversation.
    index('inbox_stray')
      .on(t.tenant, t.connection, t.subject)
      .where(sql`conversation_id is null and subject is not null`),
    // Whom strangers cannot silence: people who were answered before.
    index('inbox_answered')
      .on(t.tenant, t.connection, t.subject)
      .where(sql`state = 'answered' and subject is not null`),
    index('inbox_in_flight').on(t.tenant, t.connection, t.state, t.receivedAt).where(sql`ended_at is null`),
  ],
)

/**
 * Deliveries after the first. A table of its own: counting on the inbox row would wait for the turn that holds it, and
 * two waiting for each other is a deadlock.
 */
export const duplicates = pgTable('duplicates', {
  inboxId: uuid('inbox_id').primaryKey(),
  tenant: tenantColumn(),
  connection: connectionColumn(),
  count: integer('count').notNull(),
  lastAt: instantColumn('last_at').notNull().defaultNow(),
  lastDeliveryId: text('last_delivery_id'),
})

/**
 * Proofs that count once (signatures, nonces), by a hash, for as long as they could be shown again. `eventId`: what came together
 * shares its proofs.
 */
export const proofClaims = pgTable(
  'proof_claims',
  {
    tenant: tenantColumn(),
    key: text('key').notNull(),
    eventId: uuid('event_id').notNull(),
    inboxId: uuid('inbox_id').notNull(),
    expiresAt: instantColumn('expires_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.tenant, t.key] }), index('proof_claims_expiry').on(t.tenant, t.expiresAt)],
)

export const tombstones = pgTable(
  'tombstones',
  {
    tenant: tenantColumn(),
    connection: connectionColumn(),
    messageId: text('message_id').notNull(),
    subject: text('subject').notNull(),
    event: text('event').notNull(),
    inboxId: uuid('inbox_id').notNull(),
    createdAt: createdAtColumn(),
  },
  (t) => [primaryKey({ columns: [t.tenant, t.connection, t.messageId, t.subject] })],
)
