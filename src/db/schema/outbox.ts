// What goes out: one row per vendor call, and one lane per order key that keeps their order.
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
import {
  connectionColumn,
  createdAtColumn,
  historyColumn,
  instantColumn,
  leaseColumns,
  tenantColumn,
} from './columns.ts'

/** States: queued, sending, retry, unknown, delivered, refused, dead, cancelled. Open while settled_at is null. */
export const outbox = pgTable(
  'outbox',
  {
    id: uuid('id').primaryKey(),
    seq: bigint('seq', { mode: 'number' }).generatedAlwaysAsIdentity(),
    tenant: tenantColumn(),
    connection: connectionColumn(),
    conversationId: uuid('conversation_id'),
    turnId: uuid('turn_id'),
    /** The turn, the send, or the arrival (purpose `protocol`) this row belongs to; unique with its ordinal, so completing twice writes once. */
    origin: uuid('origin').notNull(),
    ordinal: integer('ordinal').notNull(),
    orderKey: text('order_key').notNull(),
    primary: boolean('primary').notNull(),
    purpose: text('purpose').notNull(),
    v: integer('v').notNull(),
    call: jsonb('call').notNull(),
    clientId: text('client_id').notNull(),
    state: text('state').notNull(),
    reason: text('reason'),
    attempt: integer('attempt').notNull().default(0),
    epoch: bigint('epoch', { mode: 'number' }).notNull().default(0),
    notBefore: instantColumn('not_before'),
    expiresAt: instantColumn('expires_at'),
    liveReference: text('live_reference'),
    /** What people are asked to decide with it, and what it says once that is decided (`CallQuestion`). */
    question: jsonb('question'),
    vendorId: text('vendor_id'),
    maybeRepeat: boolean('maybe_repeat').notNull().default(false),
    sendingAt: instantColumn('sending_at'),
    settledAt: instantColumn('settled_at'),
    /** It bounced, or is late, as a relay on the way reported: `failed` or `delayed`. Its state stays what it was. */
    bounceKind: text('bounce_kind'),
    bounceReason: text('bounce_reason'),
    bouncedAt: instantColumn('bounced_at'),
    createdAt: createdAtColumn(),
    traceId: text('trace_id').notNull(),
    history: historyColumn(),
  },
  (t) => [
    uniqueIndex('outbox_origin').on(t.origin, t.ordinal),
    uniqueIndex('outbox_protocol').on(t.tenant, t.connection, t.clientId).where(sql`purpose = 'protocol'`),
    index('outbox_open').on(t.tenant, t.connection, t.orderKey, t.seq).where(sql`settled_at is null`),
    index('outbox_turn').on(t.turnId),
    index('outbox_vendor').on(t.tenant, t.vendorId).where(sql`vendor_id is not null`),
    index('outbox_failed').on(t.tenant, t.state, t.seq).where(sql`state in ('unknown', 'refused', 'dead')`),
    index('outbox_bounced').on(t.tenant, t.seq).where(sql`bounce_kind is not null`),
    index('outbox_settled').on(t.tenant, t.settledAt).where(sql`settled_at is not null`),
  ],
)

export const sendLanes = pgTable(
  'send_lanes',
  {
    tenant: tenantColumn(),
    connection: connectionColumn(),
    orderKey: text('order_key').notNull(),
    pending: integer('pending').notNull().default(0),
    nextAt: instantColumn('next_at').notNull().defaultNow(),
    ...leaseColumns(),
  },
  (t) => [
    primaryKey({ columns: [t.tenant, t.connection, t.orderKey] }),
    // Lanes that adapters named, once nothing waits in them: their name may be a person's address.
    index('send_lanes_idle').on(t.tenant, t.nextAt).where(sql`pending = 0 and left(order_key, 3) = 'to:'`),
    index('send_lanes_due').on(t.tenant, t.nextAt).where(sql`pending > 0`),
  ],
)
