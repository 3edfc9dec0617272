// Tasks on SQL, those of one connection. Credentials for a caller's push receiver are sealed before they come here.
import type { PushConfig, Task, TaskWait } from '../contract/index.ts'
import type { TaskLogPosition, TaskRecord, TaskStore, TaskUpdates } from '../tasks/task-store.ts'
import type { Database } from './database.ts'
import type { Seal } from './installation-store.ts'
import { disablePush, findPush, listPush, pushToSend, removePush, savePush } from './statements/push-configs.ts'
import { cancelRun } from './statements/runs.ts'
import {
  cancelTask,
  findTask,
  isForeignContext,
  listContextTasks,
  listTasks,
  logPositionBefore,
  readTask,
  readTaskToTell,
  taskNews,
  taskOfMessage,
  taskOfMessageId,
  waitsIn,
} from './statements/tasks.ts'

export type TaskStoreOptions = {
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

export function createTaskStore(database: Database, options: TaskStoreOptions): TaskStore {
  const { tenant, connection } = options
  /** An id that is no uuid of ours belongs to no task. */
  const queryOwnTask = async <Row>(
    statement: typeof findTask,
    id: string,
    ...more: readonly (string | number | null)[]
  ) => (uuid.test(id) ? database.query<Row>(statement, [tenant, connection, id, ...more]) : [])
  return {
    async ofMessage(inboxId) {
      const [row] = await queryOwnTask<{ readonly id: string }>(taskOfMessage, inboxId)
      return row?.id
    },
    async placeBefore(inboxId) {
      const [row] = await queryOwnTask<TaskLogPosition>(logPositionBefore, inboxId)
      return row
    },
    async ofMessageId(messageId, owner) {
      const params = [tenant, connection, messageId, owner]
      const [row] = await database.query<{ readonly id: string }>(taskOfMessageId, params)
      return row?.id
    },
    async find(id, owner) {
      const [row] = await queryOwnTask<Task>(findTask, id, owner)
      return row
    },
    async dossier(id, owner) {
      const [row] = await queryOwnTask<TaskRecord>(readTask, id, owner)
      return row
    },
    async toTell(id) {
      const [row] = await queryOwnTask<TaskRecord>(readTaskToTell, id)
      return row
    },
    async news(id, { order, seq }, limit) {
      const place = [Math.min(order, maxInt), Math.min(seq, maxInt)]
      const [row] = await queryOwnTask<TaskUpdates>(taskNews, id, ...place, limit)
      return row
    },
    async list({ agent, contextId, state, since, limit, after }, owner) {
      const asked = [agent, contextId, state, since, after?.stateAt, after?.id].map((each) => each ?? null)
      const params = [tenant, connection, owner, ...asked, limit + 1]
      const statement = contextId === undefined ? listTasks : listContextTasks
      const [page] = await database.query<ListedPage>(statement, params)
      const tasks = page?.tasks ?? []
      return { tasks: tasks.slice(0, limit), total: page?.total ?? 0, hasMore: tasks.length > limit }
    },
    waits: (agent, contextId, owner) =>
      database.query<TaskWait>(waitsIn, [tenant, connection, agent, contextId, owner]),
    async isForeignContext(agent, contextId, owner) {
      const params = [tenant, connection, agent, contextId, owner]
      const [row] = await database.query<{ readonly isForeign: boolean }>(isForeignContext, params)
      return row?.isForeign ?? false
    },
    async cancel(id, owner) {
      if (!uuid.test(id)) return undefined
      return database.transaction(async (sql) => {
        const [row] = await sql.query<Cancelled>(cancelTask, [tenant, connection, id, owner])
        if (row?.outcome === 'cancelled' && row.turnId !== null)
          await sql.query(cancelRun, [row.turnId, taskOwner, tenant])
        return row?.outcome
      })
    },
    ...pushStore(database, options),
  }
}

const maxInt = 2_147_483_647

function pushStore(
  database: Database,
  { tenant, connection, seal }: TaskStoreOptions,
): Pick<TaskStore, 'savePush' | 'findPush' | 'listPush' | 'removePush' | 'receiver' | 'disablePush'> {
  const pushSealContext = (taskId: string, id: string): string =>
    JSON.stringify([tenant, connection, 'push', taskId, id])
  const openPushConfig = async ({ sealed, ...row }: PushRow): Promise<PushConfig> => {
    const secrets = sealed === null ? {} : JSON.parse(await seal.open(sealed, pushSealContext(row.taskId, row.id)))
    return { ...row, token: secrets.token ?? null, credentials: secrets.credentials ?? null }
  }
  return {
    async savePush({ taskId, id, url, token, scheme, credentials, dialect }, owner, { limit, isInline }) {
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
    async findPush(taskId, id, owner) {
      if (!uuid.test(taskId)) return undefined
      const [row] = await database.query<PushRow>(findPush, [tenant, connection, taskId, owner, id])
      return row === undefined ? undefined : openPushConfig(row)
    },
    async listPush(taskId, owner) {
      if (!uuid.test(taskId)) return undefined
      const rows = await database.query<PushRow | { readonly id: null }>(listPush, [tenant, connection, taskId, owner])
      if (rows.length === 0) return undefined
      return Promise.all(rows.filter((row): row is PushRow => row.id !== null).map(openPushConfig))
    },
    async removePush(taskId, id, owner) {
      if (!uuid.test(taskId)) return false
      const params = [tenant, connection, taskId, owner, id]
      const [row] = await database.query<{ readonly owned: number }>(removePush, params)
      return (row?.owned ?? 0) > 0
    },
    async receiver(taskId, id) {
      const [row] = await database.query<PushRow>(pushToSend, [tenant, taskId, id])
      return row === undefined ? undefined : openPushConfig(row)
    },
    async disablePush(taskId, id) {
      await database.query(disablePush, [tenant, taskId, id])
    },
  }
}
