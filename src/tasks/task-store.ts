// The port of tasks: their rows, the log of their turns, and where callers want to be notified. Scoped to one connection.
import type {
  JsonObject,
  NormalizedResponse,
  PushConfig,
  Task,
  TaskPage,
  TaskQuery,
  TaskState,
  TaskWait,
} from '../contract/index.ts'

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

export interface TaskStore {
  ofMessage(inboxId: string): Promise<string | undefined>
  /** The last line of its task before the message's turn; before it has one, the last there is. Undefined: none. */
  placeBefore(inboxId: string): Promise<TaskLogPosition | undefined>
  ofMessageId(messageId: string, owner: TaskOwner): Promise<string | undefined>
  find(id: string, owner: TaskOwner): Promise<Task | undefined>
  dossier(id: string, owner: TaskOwner): Promise<TaskRecord | undefined>
  news(id: string, after: TaskLogPosition, limit: number): Promise<TaskUpdates | undefined>
  list(query: TaskQuery, owner: string): Promise<TaskPage>
  waits(agent: string, contextId: string, owner: TaskOwner): Promise<readonly TaskWait[]>
  isForeignContext(agent: string, contextId: string, owner: TaskOwner): Promise<boolean>
  /** The task is cancelled by this; what works on it is stopped, what waits for it is withdrawn. */
  cancel(id: string, owner: TaskOwner): Promise<'cancelled' | 'over' | undefined>
  savePush(
    config: PushConfig,
    owner: TaskOwner,
    how: { readonly limit: number; readonly isInline: boolean },
  ): Promise<'saved' | 'full' | undefined>
  findPush(taskId: string, id: string, owner: TaskOwner): Promise<PushConfig | undefined>
  listPush(taskId: string, owner: TaskOwner): Promise<readonly PushConfig[] | undefined>
  removePush(taskId: string, id: string, owner: TaskOwner): Promise<boolean>
  toTell(id: string): Promise<TaskRecord | undefined>
  receiver(taskId: string, id: string): Promise<PushConfig | undefined>
  disablePush(taskId: string, id: string): Promise<void>
}
