// The channel session map: conversations, the names they are known by, who takes part, and their lane.
import { sql } from 'drizzle-orm'
import { boolean, index, integer, jsonb, pgTable, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import {
  connectionColumn,
  createdAtColumn,
  instantColumn,
  leaseColumns,
  tenantColumn,
  workspaceColumns,
} from './columns.ts'

export const conversations = pgTable(
  'conversations',
  {
    id: uuid('id').primaryKey(),
    tenant: tenantColumn(),
    connection: connectionColumn(),
    agent: text('agent').notNull(),
    externalId: text('external_id').notNull(),
    sessionId: uuid('session_id'),
    ownerSubject: text('owner_subject'),
    replyTo: jsonb('reply_to'),
    replyTokenHash: text('reply_token_hash'),
    lastActivityAt: instantColumn('last_activity_at').notNull().defaultNow(),
    createdAt: createdAtColumn(),
    ...workspaceColumns(),
  },
  (t) => [
    uniqueIndex('conversations_external').on(t.tenant, t.connection, t.agent, t.externalId),
    // Over columns that never change otherwise, so that a turn's update of the row touches no index.
    index('conversations_erased').on(t.id).where(sql`external_id like '~~erased %'`),
  ],
)

export const conversationAliases = pgTable(
  'conversation_aliases',
  {
    tenant: tenantColumn(),
    connection: connectionColumn(),
    agent: text('agent').notNull(),
    externalId: text('external_id').notNull(),
    conversationId: uuid('conversation_id').notNull(),
  },
  (t) => [primaryKey({ columns: [t.tenant, t.connection, t.agent, t.externalId] })],
)

/** Which agent of several a thread talks with: the one addressed last, by each sender for themselves and by those let in for all. */
export const threadAgents = pgTable(
  'thread_agents',
  {
    tenant: tenantColumn(),
    connection: connectionColumn(),
    externalId: text('external_id').notNull(),
    agent: text('agent').notNull(),
    updatedAt: instantColumn('updated_at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.tenant, t.connection, t.externalId] })],
)

export const participants = pgTable(
  'participants',
  {
    conversationId: uuid('conversation_id').notNull(),
    subject: text('subject').notNull(),
    joinedAt: instantColumn('joined_at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.conversationId, t.subject] }), index('participants_subject').on(t.subject)],
)

/** One row per conversation: the turn queue. Mode: active, paused, or operator (a person has taken over). */
export const lanes = pgTable(
  'lanes',
  {
    conversationId: uuid('conversation_id').primaryKey(),
    tenant: tenantColumn(),
    connection: connectionColumn(),
    pending: integer('pending').notNull().default(0),
    mode: text('mode').notNull().default('active'),
    nextAt: instantColumn('next_at').notNull().defaultNow(),
    /** Of a conversation beside a conversation: what waits in it is for the gateway and waits for no free slot. */
    isControl: boolean('is_control').notNull().default(false),
    /** The turn that is open in this lane; it survives its holder and is resumed by the next one. */
    turnId: uuid('turn_id'),
    ...leaseColumns(),
  },
  (t) => [
    index('lanes_due').on(t.tenant, t.nextAt).where(sql`pending > 0`),
    index('lanes_control').on(t.tenant, t.nextAt).where(sql`is_control and pending > 0`),
  ],
)
