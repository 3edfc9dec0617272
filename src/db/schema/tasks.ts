// Tasks: work a caller asked for under an id, and where the caller wants to be notified about it. The log of a task is the log of its turns.
import { sql } from 'drizzle-orm'
import { boolean, index, jsonb, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core'
import { connection, createdAt, instantColumn, tenant } from './columns.ts'

/** States: submitted, working, input_required, auth_required; over: completed, failed, cancelled, rejected. */
export const tasks = pgTable(
  'tasks',
  {
    id: uuid('id').primaryKey(),
    tenant: tenant(),
    connection: connection(),
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
    createdAt: createdAt(),
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
    tenant: tenant(),
    taskId: uuid('task_id').notNull(),
    id: text('id').notNull(),
    url: text('url').notNull(),
    scheme: text('scheme'),
    sealedSecrets: jsonb('sealed_secrets'),
    dialect: text('dialect').notNull(),
    /** The receiver said that it is gone. */
    disabledAt: instantColumn('disabled_at'),
    createdAt: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.tenant, t.taskId, t.id] })],
)
