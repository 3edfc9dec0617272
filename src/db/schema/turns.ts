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
import { connection, createdAt, history, instantColumn, tenant } from './columns.ts'

/** States: running, replied, answered, silent, dead, split. */
export const turns = pgTable(
  'turns',
  {
    id: uuid('id').primaryKey(),
    tenant: tenant(),
    connection: connection(),
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
    history: history(),
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
    tenant: tenant(),
    conversationId: uuid('conversation_id').notNull(),
    origin: uuid('origin').notNull(),
    name: text('name').notNull(),
    kind: text('kind').notNull(),
    payload: jsonb('payload'),
    dueAt: instantColumn('due_at').notNull(),
    firedAt: instantColumn('fired_at'),
    createdAt: createdAt(),
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
    tenant: tenant(),
    conversationId: uuid('conversation_id').notNull(),
    kind: text('kind').notNull(),
    name: text('name').notNull(),
    origin: uuid('origin'),
    payload: jsonb('payload'),
    state: text('state').notNull(),
    reason: text('reason'),
    attempts: integer('attempts').notNull().default(0),
    turnId: uuid('turn_id'),
    createdAt: createdAt(),
    endedAt: instantColumn('ended_at'),
  },
  (t) => [
    index('signals_waiting').on(t.conversationId, t.seq).where(sql`state = 'queued'`),
    index('signals_turn').on(t.turnId),
  ],
)
