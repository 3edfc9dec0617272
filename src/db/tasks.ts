// Tasks of one connection, as their owners see them. Credentials for a caller's push receiver are sealed before they come here.

import type { NormalizedResponse, PushConfig, Task, TaskState, TaskWait } from '../contract/index.ts'
import type { TaskPage, TaskQuery } from '../contract/tasks.ts'
import type { JsonObject } from '../lib/json-value.ts'
import { type Database, instantNow, isoTimeSql, nameStatement, preventIndexUseSql, rowVersion } from './client.ts'
import type { Seal } from './installations.ts'
import { cancelRunSql } from './runs.ts'
import { isEventVisibleToCallerSql, line, task, taskColumns, taskRecordSql } from './task-snapshot.ts'

// Rows of tasks, the log of their turns, and where callers want to be notified. Scoped to one connection.

/** Whose tasks are meant. Null: of a caller that knows the id. */
export type TaskOwner = string | null

/** A line of a task's log as it is stored: place of its turn, number in it, what happened. */
export type TaskLogLine = {
  readonly order: number
  readonly seq: number
  readonly runId: string
  readonly at: string
  readonly event: JsonObject
}

/** What is read of a task for a watcher that was away: its state as it is now, and lines after a place, all at one moment. */
export type TaskUpdates = {
  readonly state: TaskState
  readonly stateAt: string
  readonly said: NormalizedResponse | null
  readonly lines: readonly TaskLogLine[]
}

export type TaskRecord = {
  readonly task: Task
  /** What was asked, as its protocol wrote it. */
  readonly asked: readonly { readonly payload: JsonObject; readonly at: string }[]
  /** Ends and words of its turns, oldest first. */
  readonly lines: readonly TaskLogLine[]
}

export type TaskLogPosition = { readonly order: number; readonly seq: number }

type TaskStoreOptions = {
  readonly tenant: string
  /** What rows call the connection. */
  readonly connection: string
  readonly seal: Seal
}

type PushRow = Omit<PushConfig, 'token' | 'credentials'> & { readonly sealed: string | null }
type Cancelled = { readonly outcome: 'cancelled' | 'over'; readonly turnId: string | null }
type ListedPage = { readonly total: number; readonly tasks: readonly Task[] }

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
/** In the audit log, and in the answer to who stopped it. */
const taskOwner = 'task owner'

export type TaskStore = ReturnType<typeof createTaskStore>

export function createTaskStore(database: Database, options: TaskStoreOptions) {
  const { tenant, connection } = options
  /** An id that is no uuid of ours belongs to no task. */
  const queryTaskById = async <Row>(
    statement: typeof findTask,
    id: string,
    ...more: readonly (string | number | null)[]
  ) => (uuid.test(id) ? database.query<Row>(statement, [tenant, connection, id, ...more]) : [])
  return {
    async ofMessage(inboxId: string): Promise<string | undefined> {
      const [row] = await queryTaskById<{ readonly id: string }>(taskOfMessage, inboxId)
      return row?.id
    },
    /** The last line of its task before the message's turn; before it has one, the last there is. Undefined: none. */
    async placeBefore(inboxId: string): Promise<TaskLogPosition | undefined> {
      const [row] = await queryTaskById<TaskLogPosition>(logPositionBefore, inboxId)
      return row
    },
    async ofMessageId(messageId: string, owner: TaskOwner): Promise<string | undefined> {
      const params = [tenant, connection, messageId, owner]
      const [row] = await database.query<{ readonly id: string }>(taskOfMessageId, params)
      return row?.id
    },
    async find(id: string, owner: TaskOwner): Promise<Task | undefined> {
      const [row] = await queryTaskById<Task>(findTask, id, owner)
      return row
    },
    async dossier(id: string, owner: TaskOwner): Promise<TaskRecord | undefined> {
      const [row] = await queryTaskById<TaskRecord>(readTask, id, owner)
      return row
    },
    async toReport(id: string): Promise<TaskRecord | undefined> {
      const [row] = await queryTaskById<TaskRecord>(readTaskToTell, id)
      return row
    },
    async news(id: string, { order, seq }: TaskLogPosition, limit: number): Promise<TaskUpdates | undefined> {
      const place = [Math.min(order, maxInt), Math.min(seq, maxInt)]
      const [row] = await queryTaskById<TaskUpdates>(taskNews, id, ...place, limit)
      return row
    },
    async list(query: TaskQuery, owner: string): Promise<TaskPage> {
      const { agent, contextId, state, since, limit, after } = query
      const asked = [agent, contextId, state, since, after?.stateAt, after?.id].map((each) => each ?? null)
      const params = [tenant, connection, owner, ...asked, limit + 1]
      const statement = contextId === undefined ? listTasks : listContextTasks
      const [page] = await database.query<ListedPage>(statement, params)
      const tasks = page?.tasks ?? []
      return { tasks: tasks.slice(0, limit), total: page?.total ?? 0, hasMore: tasks.length > limit }
    },
    waits: (agent: string, contextId: string, owner: TaskOwner) =>
      database.query<TaskWait>(waitsIn, [tenant, connection, agent, contextId, owner]),
    async isForeignContext(agent: string, contextId: string, owner: TaskOwner): Promise<boolean> {
      const params = [tenant, connection, agent, contextId, owner]
      const [row] = await database.query<{ readonly isForeign: boolean }>(isForeignContext, params)
      return row?.isForeign ?? false
    },
    /** The task is cancelled by this; what works on it is stopped, what waits for it is withdrawn. */
    async cancel(id: string, owner: TaskOwner): Promise<Cancelled['outcome'] | undefined> {
      if (!uuid.test(id)) return undefined
      return database.transaction(async (sql) => {
        const [row] = await sql.query<Cancelled>(cancelTask, [tenant, connection, id, owner])
        if (row?.outcome === 'cancelled' && row.turnId !== null)
          await sql.query(cancelRunSql, [row.turnId, taskOwner, tenant])
        return row?.outcome
      })
    },
    ...createPushConfigStore(database, options),
  }
}

const maxInt = 2_147_483_647

function createPushConfigStore(database: Database, { tenant, connection, seal }: TaskStoreOptions) {
  const pushSealContext = (taskId: string, id: string): string =>
    JSON.stringify([tenant, connection, 'push', taskId, id])
  const decryptPushConfig = async ({ sealed, ...row }: PushRow): Promise<PushConfig> => {
    const secrets = sealed === null ? {} : JSON.parse(await seal.open(sealed, pushSealContext(row.taskId, row.id)))
    return { ...row, token: secrets.token ?? null, credentials: secrets.credentials ?? null }
  }
  return {
    async savePush(
      { taskId, id, url, token, scheme, credentials, dialect }: PushConfig,
      owner: TaskOwner,
      { limit, isInline }: { readonly limit: number; readonly isInline: boolean },
    ): Promise<'saved' | 'full' | undefined> {
      if (!uuid.test(taskId)) return undefined
      const hasSecrets = token !== null || credentials !== null
      const sealed = hasSecrets
        ? await seal.close(JSON.stringify({ token, credentials }), pushSealContext(taskId, id))
        : null
      const secrets = sealed === null ? null : JSON.stringify(sealed)
      const params = [tenant, connection, taskId, owner, id, url, scheme, secrets, dialect, limit, isInline]
      const [row] = await database.query<{ readonly isSaved: boolean }>(savePush, params)
      if (row === undefined) return undefined
      return row.isSaved ? 'saved' : 'full'
    },
    async findPush(taskId: string, id: string, owner: TaskOwner): Promise<PushConfig | undefined> {
      if (!uuid.test(taskId)) return undefined
      const [row] = await database.query<PushRow>(findPush, [tenant, connection, taskId, owner, id])
      return row === undefined ? undefined : decryptPushConfig(row)
    },
    async listPush(taskId: string, owner: TaskOwner): Promise<readonly PushConfig[] | undefined> {
      if (!uuid.test(taskId)) return undefined
      const rows = await database.query<PushRow | { readonly id: null }>(listPush, [tenant, connection, taskId, owner])
      if (rows.length === 0) return undefined
      return Promise.all(rows.filter((row): row is PushRow => row.id !== null).map(decryptPushConfig))
    },
    async removePush(taskId: string, id: string, owner: TaskOwner): Promise<boolean> {
      if (!uuid.test(taskId)) return false
      const params = [tenant, connection, taskId, owner, id]
      const [row] = await database.query<{ readonly owned: number }>(removePush, params)
      return (row?.owned ?? 0) > 0
    },
    async receiver(taskId: string, id: string): Promise<PushConfig | undefined> {
      const [row] = await database.query<PushRow>(pushToSend, [tenant, taskId, id])
      return row === undefined ? undefined : decryptPushConfig(row)
    },
    async disablePush(taskId: string, id: string): Promise<void> {
      await database.query(disablePush, [tenant, taskId, id])
    },
  }
}

// $1 tenant, $2 connection; another owner's task gives no row.

/** $3 id. */
const byId = `t.id = $3 and ${preventIndexUseSql('t.tenant')} = $1 and ${preventIndexUseSql('t.connection')} = $2`
/** $4 owner. */
const own = `${byId} and t.owner is not distinct from $4::text`

const maxOrder = 2_147_483_647

/** $1 tenant, $2 connection, $3 inbox id. */
export const taskOfMessage = nameStatement(
  'task_of_message',
  `select x.task_id as id from inbox x
   where x.id = $3 and ${preventIndexUseSql('x.tenant')} = $1 and ${preventIndexUseSql('x.connection')} = $2 and x.task_id is not null`,
)

/** $1 tenant, $2 connection, $3 inbox id. A turn that has begun has its position; a message without a turn comes after all of them. */
export const logPositionBefore = nameStatement(
  'find_place_before_message',
  `
select w.task_order as "order", e.seq from inbox x left join turns u on u.id = x.turn_id
join turns w on w.task_id = x.task_id and w.task_order < coalesce(u.task_order, ${maxOrder}) join run_events e on e.run_id = w.id
where x.id = $3 and ${preventIndexUseSql('x.tenant')} = $1 and ${preventIndexUseSql('x.connection')} = $2
order by w.task_order desc, e.seq desc limit 1`,
)

/** $1 tenant, $2 connection, $3 the message's own id, $4 owner. */
const taskOfMessageId = nameStatement(
  'task_of_message_id',
  `
select x.task_id as id from inbox x
where x.tenant = $1 and x.connection = $2 and x.message_id = $3 and x.subject is not distinct from $4::text and x.task_id is not null
order by x.seq limit 1`,
)

export const findTask = nameStatement('find_task', `select ${taskColumns} from tasks t where ${own}`)

export const readTask = nameStatement('read_task', taskRecordSql(`tasks t where ${own}`))
/** $3 id. For the push notifier, not for an API caller. */
const readTaskToTell = nameStatement('read_task_to_tell', taskRecordSql(`tasks t where ${byId}`))

/** $3 id, $4 and $5 the position after which, $6 how many. State and lines are of one moment. */
export const taskNews = nameStatement(
  'read_task_updates',
  `
select t.state, ${isoTimeSql('t.state_at')} as "stateAt", t.status_message as said,
  coalesce((select json_agg(l.line) from (
    select ${line} as line from turns u join run_events e on e.run_id = u.id
    where u.task_id = t.id and (u.task_order, e.seq) > ($4::int, $5::int) and ${isEventVisibleToCallerSql('e')}
    order by u.task_order, e.seq limit $6) l), '[]') as lines
from tasks t where ${byId}`,
)

/** What a list is of; `context` only where it is asked for, so that a plan made without it does not pass it by. */
const fromTasksMatchingFilterSql = (context: string): string => `
  from tasks t where t.tenant = $1 and t.connection = $2 and t.owner = $3 and ($4::text is null or t.agent = $4)${context}
    and ($6::text is null or t.state = $6) and t.state_at >= coalesce($7::timestamptz, '-infinity')
    -- What was merely said was answered as a message: its asker knows of no task.
    and t.status_message -> 'direct' is null`

/** More are not counted: an exact figure is of no use there, and counting would cost more than the page. */
const maxCounted = 2_000

/** Where nothing is asked the bounds are open: a condition that may be absent is none that an index is entered by. */
const lastId = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/**
 * $3 owner, $4 agent, $5 context, $6 state, $7 since, $8 and $9 the position after which, $10 how many; null where nothing is asked.
 * `total` counts all pages, up to a limit; a page is found by its index, in the order that the index has.
 */
const listTasksSql = (context: string): string => `
select (select count(*)::int from (select 1 ${fromTasksMatchingFilterSql(context)} limit ${maxCounted}) m) as total, coalesce((select json_agg(p.task) from (
  select ${task} as task ${fromTasksMatchingFilterSql(context)}
    and (t.state_at, t.id) < (coalesce($8::timestamptz, 'infinity'), coalesce($9::uuid, '${lastId}'))
  order by t.state_at desc nulls last, t.id desc nulls last limit $10) p), '[]') as tasks`

export const listTasks = nameStatement('list_tasks', listTasksSql(' and $5::text is null'))
export const listContextTasks = nameStatement('list_context_tasks', listTasksSql(' and t.context_id = $5'))

/** $3 agent, $4 context, $5 owner. Decided ones for an hour longer, so that a decision that is sent again finds what it was about. */
const waitsIn = nameStatement(
  'waits_in_context',
  `
select a.id, t.id as "taskId", w.run_id as "runId", a.status <> 'pending' or a.expires_at < now() as "isOver", t.ended_at is not null as "isTaskOver",
  a.summary, ${isoTimeSql('a.expires_at')} as "expiresAt"
from tasks t join turns w on w.task_id = t.id join pending_actions a on a.turn_id = w.id
where t.tenant = $1 and t.connection = $2 and t.owner is not distinct from $5::text and t.agent = $3 and t.context_id = $4
  and (a.status = 'pending' or a.resolved_at > now() - interval '1 hour')
order by a.id`,
)

/** $3 agent, $4 context, $5 owner. The conversation of that name may be theirs, another owner's, or not there. */
const isForeignContext = nameStatement(
  'is_foreign_context',
  `
with there as materialized (
  select distinct t.owner is not distinct from $5::text as "isOwn" from tasks t
  where t.tenant = $1 and t.connection = $2 and t.context_id = $4 and t.agent = $3
)
select exists (select 1 from there) and not exists (select 1 from there where "isOwn") as "isForeign"`,
)

/**
 * The lane first, as the worker that ends a turn does. What waits in a lane that no worker holds is withdrawn; what a worker has just
 * taken finds its task cancelled when its turn opens.
 */
export const cancelTask = nameStatement(
  'cancel_task',
  `
with lane as materialized (
  select l.conversation_id, l.holder is null or l.lease_until < now() as is_free from lanes l
  where l.conversation_id = (select t.conversation_id from tasks t where ${own}) for update
),
asked as materialized (select t.id, t.ended_at from tasks t where ${own} and (select count(*) from lane) >= 0 for update),
withdrawn as (
  update inbox x set state = 'refused', reason = 'task_cancelled', ended_at = now()
  from asked a, lane l where x.task_id = a.id and x.conversation_id = l.conversation_id and l.is_free and x.state = 'queued'
    and a.ended_at is null
  returning x.id
),
shortened as (
  update lanes l set pending = l.pending - (select count(*)::int from withdrawn)
  from lane where l.conversation_id = lane.conversation_id and exists (select 1 from withdrawn)
),
ended as (
  update tasks t set state = 'cancelled', state_at = ${instantNow}, ended_at = now(), status_message = null, waiting_inbox_id = null
  from asked a where t.id = a.id and a.ended_at is null returning t.id
)
select case when exists (select 1 from ended) then 'cancelled' else 'over' end as outcome,
  (select u.id from turns u where u.task_id = a.id and u.kind in ('messages', 'signal') order by u.task_order desc limit 1) as "turnId"
from asked a`,
)

// Push notification configurations of tasks. $1 tenant, $2 connection, $3 task, $4 owner; another owner's task gives no row.

const ownTask = `own as materialized (
  select t.id, t.state, t.state_at from tasks t
  where t.id = $3 and ${preventIndexUseSql('t.tenant')} = $1 and ${preventIndexUseSql('t.connection')} = $2 and t.owner is not distinct from $4::text for update)`
const columns = 'p.task_id as "taskId", p.id, p.url, p.scheme, p.dialect, p.sealed_secrets as sealed'

/**
 * $5 id, $6 url, $7 scheme, $8 sealed secrets, $9 dialect, $10 how many a task may have, $11 whether it came with the message that
 * asked for the task: what the task has reached by now is told then, as if the receiver had been there.
 */
export const savePush = nameStatement(
  'save_push',
  `
with ${ownTask},
saved as (
  insert into push_configs (tenant, task_id, id, url, scheme, sealed_secrets, dialect)
  select $1, own.id, $5, $6, $7, $8::text::jsonb, $9 from own
  where (select count(*) from push_configs p where p.tenant = $1 and p.task_id = own.id and p.id <> $5) < $10::int
  on conflict (tenant, task_id, id) do update
    set url = excluded.url, scheme = excluded.scheme, sealed_secrets = excluded.sealed_secrets, dialect = excluded.dialect,
      disabled_at = null
  returning xmax = 0 as is_new
),
marked as (update tasks t set has_push = true from own where t.id = own.id and not t.has_push),
called as (
  insert into outbox (id, tenant, connection, origin, ordinal, order_key, "primary", purpose, v, call, client_id, state, trace_id)
  select c.id, $1, $2, c.id, 0, 'push:' || own.id || ':' || $5, false, 'push', ${rowVersion},
    jsonb_build_object('push', jsonb_build_object('taskId', own.id, 'configId', $5::text, 'state', own.state,
      'at', ${isoTimeSql('own.state_at')})),
    c.id::text, 'queued', replace(own.id::text, '-', '')
  from own, (select gen_random_uuid() as id) c
  where $11::boolean and own.state <> 'submitted' and exists (select 1 from saved where is_new)
  returning order_key
),
queued as (
  insert into send_lanes (tenant, connection, order_key, pending) select $1, $2, order_key, 1 from called
  on conflict (tenant, connection, order_key) do update set pending = send_lanes.pending + 1
)
select exists (select 1 from saved) as "isSaved" from own`,
)

/** $5 id. */
export const findPush = nameStatement(
  'find_push',
  `with ${ownTask} select ${columns} from push_configs p, own where p.tenant = $1 and p.task_id = own.id and p.id = $5`,
)

/** One row per config; one without a config where the task has none. */
const listPush = nameStatement(
  'list_push',
  `with ${ownTask} select ${columns} from own left join push_configs p on p.tenant = $1 and p.task_id = own.id order by p.created_at, p.id`,
)

/** $5 id. */
const removePush = nameStatement(
  'remove_push',
  `
with ${ownTask},
gone as (delete from push_configs p using own where p.tenant = $1 and p.task_id = own.id and p.id = $5)
select count(*)::int as owned from own`,
)

/** $1 tenant, $2 task, $3 id. */
const disablePush = nameStatement(
  'disable_push',
  'update push_configs set disabled_at = now() where tenant = $1 and task_id = $2 and id = $3',
)

/** $1 tenant, $2 task, $3 id. For the sender of the notification, not for an API caller. */
const pushToSend = nameStatement(
  'push_to_send',
  `select ${columns} from push_configs p where p.tenant = $1 and p.task_id = $2 and p.id = $3 and p.disabled_at is null`,
)
