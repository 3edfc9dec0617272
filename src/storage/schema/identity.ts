// What later work resolves by compare-and-set, with its workspace from the first day (rulings 5, 21).
import { index, jsonb, pgTable, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { createdAt, instant, tenant, workspace } from './columns.ts'

export const pendingActions = pgTable(
  'pending_actions',
  {
    tenant: tenant(),
    id: uuid('id').notNull(),
    turnId: uuid('turn_id').notNull(),
    conversationId: uuid('conversation_id').notNull(),
    kind: text('kind').notNull(),
    summary: text('summary').notNull(),
    actionHash: text('action_hash').notNull(),
    action: jsonb('action').notNull(),
    creator: text('creator'),
    resolver: text('resolver'),
    status: text('status').notNull(),
    expiresAt: instant('expires_at').notNull(),
    resolvedAt: instant('resolved_at'),
    createdAt: createdAt(),
    ...workspace(),
  },
  (t) => [primaryKey({ columns: [t.tenant, t.id] }), index('pending_actions_conversation').on(t.conversationId)],
)

export const runtimeToolRequests = pgTable(
  'runtime_tool_requests',
  {
    tenant: tenant(),
    id: uuid('id').notNull(),
    turnId: uuid('turn_id').notNull(),
    conversationId: uuid('conversation_id').notNull(),
    tool: text('tool').notNull(),
    parameters: jsonb('parameters').notNull(),
    status: text('status').notNull(),
    result: jsonb('result'),
    expiresAt: instant('expires_at'),
    createdAt: createdAt(),
    ...workspace(),
  },
  (t) => [primaryKey({ columns: [t.tenant, t.id] })],
)

/** Tokens are stored as hashes; the clear text is shown once and never again. */
export const tokens = pgTable(
  'tokens',
  {
    tenant: tenant(),
    id: uuid('id').notNull(),
    hash: text('hash').notNull(),
    label: text('label').notNull(),
    scopes: jsonb('scopes').notNull(),
    principal: text('principal'),
    expiresAt: instant('expires_at'),
    revokedAt: instant('revoked_at'),
    /** Near enough for an operator to tell a token nobody uses; not a write per request. */
    lastUsedAt: instant('last_used_at'),
    createdAt: createdAt(),
    ...workspace(),
  },
  (t) => [primaryKey({ columns: [t.tenant, t.id] }), uniqueIndex('tokens_hash').on(t.hash)],
)
