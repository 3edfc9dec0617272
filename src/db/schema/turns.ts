// Turns and their journal; timers, and the signals that wake a conversation without a message.

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
  tenantColumn,
  workspaceColumns,
} from './columns.ts'
/** States: running, replied, answered, silent, dead, split. */
export const turns = pgTable(
  'turns',
  {
    id: uuid('id').primaryKey(),
    tenant: tenantColumn(),
    connection: connectionColumn(),
    conversationId: uuid('conversation_id').notNull(),
    sessionId: uuid('session_id'),
    agent: text('agent').notNull(),
    kind: text('kind').notNull(),
    state: text('state').notNull(),
    attempt: integer('attempt').notNull(),
    /** Tries that ended in an exception. */
    failures: integer('failures').notNull().default(0),
    /** Epochs whose holder vanished while it ran: killed, crashed, out of memory. Taken out again by a holder that comes back. */
    crashEpochs: bigint('crash_epochs', { mode: 'number' }).array().notNull().default(sql`'{}'`),
    epoch: bigint('epoch', { mode: 'number' }).notNull(),
    v: integer('v').notNull(),
    parentTurn: uuid('parent_turn'),
    /** The dead turn whose journal this one goes on with; null: its own. */
    journalTurn: uuid('journal_turn'),
    /** Which lines of its session the turn is shown, decided once: how many there were, and how many of them. */
    view: jsonb('view'),
    principal: text('principal'),
    runId: text('run_id'),
    response: jsonb('response'),
    reason: text('reason'),
    outageSince: instantColumn('outage_since'),
    startedAt: instantColumn('started_at').notNull().defaultNow(),
    deadlineAt: instantColumn('deadline_at'),
    endedAt: instantColumn('ended_at'),
    /** The task it works on, and its position among the turns of that task. */
    taskId: uuid('task_id'),
    taskOrder: integer('task_order'),
    traceId: text('trace_id').notNull(),
    history: historyColumn(),
  },
  (t) => [
    index('turns_task').on(t.taskId, t.taskOrder).where(sql`task_id is not null`),
    index('turns_conversation').on(t.conversationId, t.startedAt),
    index('turns_access_challenge').on(t.conversationId, t.startedAt).where(sql`kind = 'access_challenge'`),
    index('turns_suspected').on(t.tenant).where(sql`crash_epochs <> '{}' and state in ('running', 'split')`),
    index('turns_ended').on(t.tenant, t.endedAt).where(sql`ended_at is not null`),
  ],
)

/** States: started, finished, failed, undone. A started or failed step has an unknown outcome, unless it may run again. */
export const journal = pgTable(
  'journal',
  {
    turnId: uuid('turn_id').notNull(),
    step: text('step').notNull(),
    /** It may have changed something outside; false: a look-up or a model's answer. */
    isEffect: boolean('is_effect').notNull().default(true),
    /** What people are told it is. */
    label: text('label'),
    state: text('state').notNull(),
    epoch: bigint('epoch', { mode: 'number' }).notNull(),
    result: jsonb('result'),
    error: text('error'),
    startedAt: instantColumn('started_at').notNull().defaultNow(),
    finishedAt: instantColumn('finished_at'),
  },
  (t) => [primaryKey({ columns: [t.turnId, t.step] })],
)

export const timers = pgTable(
  'timers',
  {
    id: uuid('id').primaryKey(),
    tenant: tenantColumn(),
    conversationId: uuid('conversation_id').notNull(),
    origin: uuid('origin').notNull(),
    name: text('name').notNull(),
    kind: text('kind').notNull(),
    payload: jsonb('payload'),
    dueAt: instantColumn('due_at').notNull(),
    firedAt: instantColumn('fired_at'),
    createdAt: createdAtColumn(),
  },
  (t) => [
    uniqueIndex('timers_origin').on(t.origin, t.name),
    index('timers_due').on(t.tenant, t.dueAt).where(sql`fired_at is null`),
  ],
)

/** States: queued, in_turn, done, dead. */
export const signals = pgTable(
  'signals',
  {
    id: uuid('id').primaryKey(),
    seq: bigint('seq', { mode: 'number' }).generatedAlwaysAsIdentity(),
    tenant: tenantColumn(),
    conversationId: uuid('conversation_id').notNull(),
    kind: text('kind').notNull(),
    name: text('name').notNull(),
    origin: uuid('origin'),
    payload: jsonb('payload'),
    state: text('state').notNull(),
    reason: text('reason'),
    attempts: integer('attempts').notNull().default(0),
    turnId: uuid('turn_id'),
    createdAt: createdAtColumn(),
    endedAt: instantColumn('ended_at'),
  },
  (t) => [
    index('signals_waiting').on(t.conversationId, t.seq).where(sql`state = 'queued'`),
    index('signals_turn').on(t.turnId),
  ],
)

// Tasks: work a caller asked for under an id, and where the caller wants to be notified about it. The log of a task is the log of its turns.

/** States: submitted, working, input_required, auth_required; over: completed, failed, cancelled, rejected. */
export const tasks = pgTable(
  'tasks',
  {
    id: uuid('id').primaryKey(),
    tenant: tenantColumn(),
    connection: connectionColumn(),
    agent: text('agent').notNull(),
    /** Null: every caller who knows the id. */
    owner: text('owner'),
    contextId: text('context_id').notNull(),
    conversationId: uuid('conversation_id').notNull(),
    state: text('state').notNull(),
    stateAt: instantColumn('state_at').notNull().defaultNow(),
    /** What was said when it reached its state. */
    statusMessage: jsonb('status_message'),
    dialect: text('dialect').notNull(),
    metadata: jsonb('metadata').notNull().default(sql`'{}'::jsonb`),
    /** The message that came last, until a turn takes it: as long as there is one the task is not over. */
    waitingInboxId: uuid('waiting_inbox_id'),
    /** A caller wants push notifications: a trigger writes the calls (drizzle/0000_initial.sql). */
    hasPush: boolean('has_push').notNull().default(false),
    createdAt: createdAtColumn(),
    endedAt: instantColumn('ended_at'),
  },
  (t) => [
    // Lists are read and counted from it alone; what was merely said is in none of them.
    index('tasks_listed')
      .on(t.tenant, t.connection, t.owner, t.stateAt.desc(), t.id.desc(), t.state, t.agent)
      .where(sql`status_message -> 'direct' is null`),
    index('tasks_context').on(t.tenant, t.connection, t.contextId, t.agent, t.owner),
    index('tasks_conversation').on(t.conversationId),
    index('tasks_old').on(t.tenant, t.stateAt),
  ],
)

/** Where changes of a task's state are posted. What proves us to the receiver is sealed. */
export const pushConfigs = pgTable(
  'push_configs',
  {
    tenant: tenantColumn(),
    taskId: uuid('task_id').notNull(),
    id: text('id').notNull(),
    url: text('url').notNull(),
    scheme: text('scheme'),
    sealedSecrets: jsonb('sealed_secrets'),
    dialect: text('dialect').notNull(),
    /** The receiver said that it is gone. */
    disabledAt: instantColumn('disabled_at'),
    createdAt: createdAtColumn(),
  },
  (t) => [primaryKey({ columns: [t.tenant, t.taskId, t.id] })],
)

// What paused runs wait for: resolved by compare-and-set, with its workspace.

export const pendingActions = pgTable(
  'pending_actions',
  {
    tenant: tenantColumn(),
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
    createdAt: createdAtColumn(),
    ...workspaceColumns(),
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
    tenant: tenantColumn(),
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
    createdAt: createdAtColumn(),
    ...workspaceColumns(),
  },
  (t) => [
    primaryKey({ columns: [t.tenant, t.id] }),
    index('runtime_tool_requests_turn').on(t.turnId),
    uniqueIndex('runtime_tool_requests_request').on(t.tenant, t.requestId),
    index('runtime_tool_requests_status').on(t.tenant, t.status, t.createdAt),
  ],
)
