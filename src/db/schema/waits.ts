// What paused runs wait for: resolved by compare-and-set, with its workspace.
import { index, jsonb, pgTable, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core'
import { createdAt, instantColumn, tenant, workspace } from './columns.ts'

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
    expiresAt: instantColumn('expires_at').notNull(),
    resolvedAt: instantColumn('resolved_at'),
    agent: text('agent'),
    sessionId: uuid('session_id'),
    runId: text('run_id'),
    toolName: text('tool_name'),
    toolCallId: text('tool_call_id'),
    /** Who may decide: every person who reaches it, a person other than the requester, or an operator. */
    resolvers: text('resolvers').notNull().default('anyone'),
    /** Where the paused run goes on; ours alone, never shown. */
    resume: jsonb('resume'),
    /** The hash of what was decided about; checked again when it is carried out. */
    decidedHash: text('decided_hash'),
    resolutionResult: jsonb('resolution_result'),
    resolutionError: text('resolution_error'),
    resolutionMetadata: jsonb('resolution_metadata'),
    createdAt: createdAt(),
    ...workspace(),
  },
  (t) => [
    primaryKey({ columns: [t.tenant, t.id] }),
    index('pending_actions_conversation').on(t.conversationId),
    index('pending_actions_turn').on(t.turnId),
    index('pending_actions_status').on(t.tenant, t.status, t.createdAt),
  ],
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
    expiresAt: instantColumn('expires_at'),
    /** The name the outside knows it by. */
    requestId: text('request_id'),
    owner: text('owner'),
    agent: text('agent'),
    sessionId: uuid('session_id'),
    runId: text('run_id'),
    toolCallId: text('tool_call_id'),
    /** What every reader may see of it: redacted parameters, runtime facts. */
    request: jsonb('request'),
    resume: jsonb('resume'),
    resolver: text('resolver'),
    resolvedAt: instantColumn('resolved_at'),
    createdAt: createdAt(),
    ...workspace(),
  },
  (t) => [
    primaryKey({ columns: [t.tenant, t.id] }),
    index('runtime_tool_requests_turn').on(t.turnId),
    uniqueIndex('runtime_tool_requests_request').on(t.tenant, t.requestId),
    index('runtime_tool_requests_status').on(t.tenant, t.status, t.createdAt),
  ],
)
