// Connections, their limits, and the positions of pull sources.
import { sql } from 'drizzle-orm'
import { index, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { connectionColumn, createdAtColumn, instantColumn, leaseColumns, tenantColumn } from './columns.ts'

export const connections = pgTable(
  'connections',
  {
    tenant: tenantColumn(),
    id: text('id').notNull(),
    channel: text('channel').notNull(),
    agent: text('agent').notNull(),
    externalAccount: text('external_account'),
    sealedCredentials: jsonb('sealed_credentials'),
    status: text('status').notNull().default('active'),
    createdAt: createdAtColumn(),
  },
  (t) => [primaryKey({ columns: [t.tenant, t.id] })],
)

/** Scope '' is the whole connection, any other an order key or what several of them share. `spent_until` is the token bucket as one instant. */
export const connectionLimits = pgTable(
  'connection_limits',
  {
    tenant: tenantColumn(),
    connection: connectionColumn(),
    scope: text('scope').notNull(),
    notBefore: instantColumn('not_before'),
    spentUntil: instantColumn('spent_until').notNull().default(sql`'epoch'::timestamptz`),
  },
  (t) => [primaryKey({ columns: [t.tenant, t.connection, t.scope] })],
)

/**
 * How often was answered of late, by what the answers have in common. `scope` is a hash, `answered` a list of the message and until
 * when it counts. A sender beyond the limit is reported once until `notified_until`.
 */
export const replyWindows = pgTable(
  'reply_windows',
  {
    tenant: tenantColumn(),
    connection: connectionColumn(),
    scope: text('scope').notNull(),
    answered: jsonb('answered').notNull().default(sql`'[]'`),
    notifiedUntil: instantColumn('notified_until'),
    /** When nothing in it counts any more. */
    expiresAt: instantColumn('expires_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.tenant, t.connection, t.scope] }),
    index('reply_windows_expiry').on(t.tenant, t.expiresAt),
  ],
)

/** Rooms and addresses the platform has told us about: why nothing can be sent there, or null where it can again. */
export const roomStatus = pgTable(
  'room_status',
  {
    tenant: tenantColumn(),
    connection: connectionColumn(),
    room: text('room').notNull(),
    reason: text('reason'),
    /** Whose it is, where it is one person's. */
    subject: text('subject'),
    /** The platform's time, by which an older word does not undo a newer one. */
    changedAt: instantColumn('changed_at').notNull(),
    recordedAt: instantColumn('recorded_at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.tenant, t.connection, t.room] })],
)

/** What a channel must know for a while, whichever replica is asked; each row ends by itself. `value` may be sealed. */
export const ttlEntries = pgTable(
  'ttl_entries',
  {
    tenant: tenantColumn(),
    connection: connectionColumn(),
    family: text('family').notNull(),
    key: text('key').notNull(),
    /** Whose it is, so that it is forgotten with them. */
    subject: text('subject'),
    value: jsonb('value').notNull(),
    expiresAt: instantColumn('expires_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.tenant, t.connection, t.family, t.key] }),
    index('ttl_entries_expiry').on(t.tenant, t.expiresAt),
  ],
)

/** What a channel keeps for good, in every replica, until it is removed. */
export const channelRecords = pgTable(
  'channel_records',
  {
    tenant: tenantColumn(),
    connection: connectionColumn(),
    family: text('family').notNull(),
    key: text('key').notNull(),
    /** Which agent of ours it is about. */
    agent: text('agent'),
    /** Whose it is, so that it is forgotten with them. */
    subject: text('subject'),
    value: jsonb('value').notNull(),
    createdAt: createdAtColumn(),
    updatedAt: instantColumn('updated_at').notNull().defaultNow(),
  },
  (t) => [
    primaryKey({ columns: [t.tenant, t.connection, t.family, t.key] }),
    index('channel_records_subject').on(t.tenant, t.connection, t.subject).where(sql`subject is not null`),
  ],
)

export const pullCursors = pgTable(
  'pull_cursors',
  {
    tenant: tenantColumn(),
    connection: connectionColumn(),
    source: text('source').notNull(),
    cursor: text('cursor'),
    connectedAt: instantColumn('connected_at'),
    ...leaseColumns(),
  },
  (t) => [primaryKey({ columns: [t.tenant, t.connection, t.source] })],
)
