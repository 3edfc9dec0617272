// Files: where their bytes are, whose they are, and the keys our handles are signed with. Never a URL, never a byte.
import { sql } from 'drizzle-orm'
import { bigint, boolean, index, pgTable, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { createdAtColumn, instantColumn, tenantColumn, workspaceColumns } from './columns.ts'

/**
 * One object in a store. Status: `pending` while its bytes are written, `ready`, then `deleting` until the object is gone and
 * the row with it. One tenant holds the same bytes once per store.
 */
export const blobs = pgTable(
  'blobs',
  {
    id: uuid('id').primaryKey(),
    tenant: tenantColumn(),
    store: text('store').notNull(),
    bucket: text('bucket').notNull(),
    path: text('path').notNull(),
    status: text('status').notNull().default('pending'),
    /** Both are known when the last byte has been written. */
    sha256: text('sha256'),
    bytes: bigint('bytes', { mode: 'number' }),
    /** Counts descriptors that come and go: the sweeper, which decides about the object, sees whether what it read still holds. */
    changes: bigint('changes', { mode: 'number' }).notNull().default(0),
    /** A descriptor of it went, and the sweeper has not looked yet whether there are others. A trigger sets this (drizzle/0000_initial.sql). */
    needsCheck: boolean('needs_check').notNull().default(false),
    /** When the sweeper last tried to remove it: what cannot be removed does not stand in the way of the rest. */
    triedAt: instantColumn('tried_at'),
    /** Not written and not read; a migration may drop both. */
    driver: text('driver'),
    location: text('location'),
    createdAt: createdAtColumn(),
  },
  (t) => [
    uniqueIndex('blobs_object').on(t.tenant, t.store, t.bucket, t.path),
    uniqueIndex('blobs_content').on(t.tenant, t.store, t.sha256).where(sql`status = 'ready'`),
    index('blobs_due').on(t.tenant).where(sql`status <> 'ready' or needs_check`),
  ],
)

/** Whose a file is. Status: `ready`, `blocked` (never served), `deleted`. */
export const attachments = pgTable(
  'attachments',
  {
    tenant: tenantColumn(),
    id: uuid('id').notNull(),
    blobId: uuid('blob_id').notNull(),
    name: text('name'),
    mimeType: text('mime_type').notNull(),
    size: bigint('size', { mode: 'number' }).notNull(),
    owner: text('owner').notNull(),
    threadId: text('thread_id'),
    /** The message and the session that refer to it; it goes with them. */
    sessionId: uuid('session_id'),
    inboxId: uuid('inbox_id'),
    receivedVia: text('received_via').notNull(),
    nativeId: text('native_id'),
    status: text('status').notNull(),
    createdAt: createdAtColumn(),
    /** When a message last referred to it, or is about to. Null: none did yet. */
    usedAt: instantColumn('used_at'),
    ...workspaceColumns(),
  },
  (t) => [
    primaryKey({ columns: [t.tenant, t.id] }),
    index('attachments_blob').on(t.blobId),
    index('attachments_owner').on(t.tenant, t.owner),
    index('attachments_session').on(t.sessionId).where(sql`session_id is not null`),
    index('attachments_inbox').on(t.inboxId).where(sql`inbox_id is not null`),
    index('attachments_used').on(t.tenant, t.usedAt).where(sql`session_id is not null`),
    // What is in no transcript: uploads that wait for a message, and messages that came to none.
    index('attachments_unsent').on(t.tenant, t.createdAt).where(sql`session_id is null`),
  ],
)

/** The one without `retired_at` signs; the others are honoured for an hour. */
export const signingKeys = pgTable(
  'signing_keys',
  {
    tenant: tenantColumn(),
    id: uuid('id').notNull(),
    /** 32 random bytes in hex. */
    secret: text('secret').notNull(),
    createdBy: text('created_by').notNull(),
    createdAt: createdAtColumn(),
    retiredAt: instantColumn('retired_at'),
  },
  (t) => [
    primaryKey({ columns: [t.tenant, t.id] }),
    uniqueIndex('signing_keys_current').on(t.tenant).where(sql`retired_at is null`),
  ],
)
