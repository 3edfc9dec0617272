// Who people are to us and what they may do: principals, links, grants, pairings, tokens, consents, chains of callers.
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

/** Every person a decision was made about, under an id that says nothing about them. Deleted when they are erased. */
export const principals = pgTable(
  'principals',
  {
    tenant: tenantColumn(),
    id: uuid('id').notNull(),
    subject: text('subject').notNull(),
    createdAt: createdAtColumn(),
  },
  (t) => [primaryKey({ columns: [t.tenant, t.id] }), uniqueIndex('principals_subject').on(t.tenant, t.subject)],
)

/** One person under several subjects: a sender verified as `subject` acts as `principal`. Made by an operator only. */
export const identityLinks = pgTable(
  'identity_links',
  {
    tenant: tenantColumn(),
    subject: text('subject').notNull(),
    principal: text('principal').notNull(),
    createdBy: text('created_by').notNull(),
    createdAt: createdAtColumn(),
  },
  (t) => [primaryKey({ columns: [t.tenant, t.subject] }), index('identity_links_principal').on(t.tenant, t.principal)],
)

/** What an operator or a pairing decided about one subject; null = everywhere. Revoked rows stay, to be explained. */
export const grants = pgTable(
  'grants',
  {
    tenant: tenantColumn(),
    id: uuid('id').notNull(),
    subject: text('subject').notNull(),
    /** `allow` or `deny`; a denial wins. */
    effect: text('effect').notNull(),
    /** What an allowed person may be: null to speak only, viewer, operator, admin. */
    role: text('role'),
    connection: text('connection'),
    agent: text('agent'),
    workspaceId: text('workspace_id'),
    source: text('source').notNull(),
    createdBy: text('created_by').notNull(),
    createdAt: createdAtColumn(),
    expiresAt: instantColumn('expires_at'),
    revokedAt: instantColumn('revoked_at'),
    revokedBy: text('revoked_by'),
  },
  (t) => [
    primaryKey({ columns: [t.tenant, t.id] }),
    index('grants_subject').on(t.tenant, t.subject).where(sql`revoked_at is null`),
  ],
)

/** States: pending, approved, rejected, expired. What the person wrote is held meanwhile. */
export const pairings = pgTable(
  'pairings',
  {
    tenant: tenantColumn(),
    id: uuid('id').notNull(),
    connection: connectionColumn(),
    agent: text('agent').notNull(),
    subject: text('subject').notNull(),
    code: text('code').notNull(),
    status: text('status').notNull(),
    conversationId: uuid('conversation_id').notNull(),
    /** How the person calls themselves, for the operator's eyes. Proves nothing. */
    shownName: text('shown_name'),
    evidence: jsonb('evidence'),
    /** Their domain, workspace or issuer; null where there is none. */
    senderGroup: text('sender_group'),
    /** Slots among the pairings that may wait at once. No two have the same, so that racing replicas cannot exceed the number. */
    groupSlot: integer('group_slot'),
    connectionSlot: integer('connection_slot'),
    createdAt: createdAtColumn(),
    expiresAt: instantColumn('expires_at').notNull(),
    decidedAt: instantColumn('decided_at'),
    decidedBy: text('decided_by'),
  },
  (t) => [
    primaryKey({ columns: [t.tenant, t.id] }),
    uniqueIndex('pairings_connection_slot').on(t.tenant, t.connection, t.connectionSlot).where(sql`status = 'pending'`),
    uniqueIndex('pairings_group_slot')
      .on(t.tenant, t.connection, t.senderGroup, t.groupSlot)
      .where(sql`status = 'pending'`),
    uniqueIndex('pairings_person').on(t.tenant, t.connection, t.agent, t.subject).where(sql`status = 'pending'`),
    uniqueIndex('pairings_code').on(t.tenant, t.code).where(sql`status = 'pending'`),
    index('pairings_expiry').on(t.expiresAt).where(sql`status = 'pending'`),
  ],
)

/** Messages of strangers for whose pairing there was no slot, by what was full: a group of senders, or '' for the connection. */
export const pairingOverflows = pgTable(
  'pairing_overflows',
  {
    tenant: tenantColumn(),
    connection: connectionColumn(),
    senderGroup: text('sender_group').notNull(),
    messages: bigint('messages', { mode: 'number' }).notNull(),
    since: instantColumn('since').notNull(),
    lastAt: instantColumn('last_at').notNull(),
    /** Until then the operator need not hear of it again. */
    notifiedUntil: instantColumn('notified_until').notNull(),
  },
  (t) => [primaryKey({ columns: [t.tenant, t.connection, t.senderGroup] })],
)

/** Tokens are stored as hashes; the clear text is shown once and never again. */
export const tokens = pgTable(
  'tokens',
  {
    tenant: tenantColumn(),
    id: uuid('id').notNull(),
    hash: text('hash').notNull(),
    label: text('label').notNull(),
    scopes: jsonb('scopes').notNull(),
    principal: text('principal'),
    /** The one agent it may talk to; null = every one. */
    agent: text('agent'),
    /** At most these capabilities; null = no list of its own. */
    allowedCapabilities: jsonb('allowed_capabilities'),
    clientId: text('client_id'),
    createdBy: text('created_by'),
    expiresAt: instantColumn('expires_at'),
    revokedAt: instantColumn('revoked_at'),
    /** Near enough for an operator to tell an unused token; not a write per request. */
    lastUsedAt: instantColumn('last_used_at'),
    createdAt: createdAtColumn(),
    ...workspaceColumns(),
  },
  (t) => [primaryKey({ columns: [t.tenant, t.id] }), uniqueIndex('tokens_hash').on(t.hash)],
)

/** Decisions about consent, beside the act they were made for. The latest about a subject and an operation counts. */
export const consents = pgTable(
  'consents',
  {
    tenant: tenantColumn(),
    id: uuid('id').notNull(),
    operation: text('operation').notNull(),
    isAllowed: boolean('is_allowed').notNull(),
    reason: text('reason').notNull(),
    subject: text('subject'),
    connection: text('connection'),
    agent: text('agent'),
    sessionId: uuid('session_id'),
    audit: jsonb('audit').notNull(),
    createdAt: createdAtColumn(),
  },
  (t) => [
    primaryKey({ columns: [t.tenant, t.id] }),
    index('consents_subject').on(t.tenant, t.subject, t.operation, t.createdAt),
    index('consents_session').on(t.sessionId).where(sql`session_id is not null`),
  ],
)

/** Which agents have worked on a chain of callers, so that it is noticed when it comes round. */
export const callChains = pgTable(
  'call_chains',
  {
    tenant: tenantColumn(),
    root: text('root').notNull(),
    agent: text('agent').notNull(),
    host: text('host').notNull(),
    /** How far from the root, the nearest time. A caller that comes back is further away. */
    depth: integer('depth').notNull(),
    createdAt: createdAtColumn(),
  },
  (t) => [primaryKey({ columns: [t.tenant, t.root, t.agent, t.host] }), index('call_chains_created').on(t.createdAt)],
)

/** Tokens of other issuers that count once: that they were used, by a hash, for as long as they could be shown again. */
export const usedTokens = pgTable(
  'used_tokens',
  { tenant: tenantColumn(), key: text('key').notNull(), expiresAt: instantColumn('expires_at').notNull() },
  (t) => [primaryKey({ columns: [t.tenant, t.key] }), index('used_tokens_expiry').on(t.expiresAt)],
)

/**
 * A person has deleted their account on a platform: what they said there until then is to be erased, piece by piece. The row goes with the last piece,
 * so that their name stands here no longer than that.
 */
export const accountDeletions = pgTable(
  'account_deletions',
  {
    tenant: tenantColumn(),
    connection: connectionColumn(),
    subject: text('subject').notNull(),
    /** The arrival that said so. */
    inboxId: uuid('inbox_id').notNull(),
    /** What came later counts as a new sender. */
    at: instantColumn('at').notNull(),
    /** Where the last piece ended: new, conversations, receipts; strays, where there was no conversation when it began. */
    phase: text('phase').notNull().default('conversations'),
    after: uuid('after'),
    /** What was removed so far, by kind. */
    removed: jsonb('removed').notNull().default(sql`'{}'::jsonb`),
    /** When a worker may go on with it; the worker that does moves it on, and counts `epoch`. */
    dueAt: instantColumn('due_at').notNull(),
    epoch: bigint('epoch', { mode: 'number' }).notNull().default(0),
  },
  (t) => [
    primaryKey({ columns: [t.tenant, t.connection, t.subject] }),
    index('account_deletions_due').on(t.tenant, t.dueAt),
  ],
)
