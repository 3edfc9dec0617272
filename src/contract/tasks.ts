// Tasks: work that a caller asked for under an id, looks at from outside, and may come back to. One task is one or
// several runs of one conversation; its log is the logs of those runs, one after the other.
import type { JsonObject } from '../lib/json-value.ts'
import type { Part } from './parts.ts'
import type { NormalizedResponse } from './response.ts'

/** `input_required` and `auth_required` wait for its owner; the last four are final. */
export type TaskState =
  | 'submitted'
  | 'working'
  | 'input_required'
  | 'auth_required'
  | 'completed'
  | 'failed'
  | 'cancelled'
  | 'rejected'

const finalStates: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled', 'rejected'])

export function isFinalState(state: TaskState): boolean {
  return finalStates.has(state)
}

/** What a message asks of a task. `known`: it goes on with this one, which must be its sender's and not over. */
export type TaskClaim = {
  readonly known?: string
  /** The protocol's own name of the conversation. */
  readonly contextId: string
  /** The message as its protocol wrote it, to be shown again word for word. */
  readonly payload: JsonObject
  /** The dialect of its watchers unless they say otherwise. */
  readonly dialect: string
  readonly metadata?: JsonObject
}

export type Task = {
  readonly id: string
  readonly contextId: string
  readonly agent: string
  /** The subject that asked for it; null: every caller that knows the id. */
  readonly owner: string | null
  readonly state: TaskState
  /** When the state was reached: UTC, with milliseconds. */
  readonly stateAt: string
  readonly createdAt: string
  readonly dialect: string
  readonly metadata: JsonObject
  /** What was said when the state was reached: an answer, a question, why not. */
  readonly said: NormalizedResponse | null
}

/** One message of a task, oldest first: what was asked as its protocol wrote it, what was answered as the agent wrote it. */
export type TaskMessage =
  | { readonly role: 'user'; readonly payload: JsonObject; readonly at: string }
  | { readonly role: 'agent'; readonly runId: string; readonly said: NormalizedResponse; readonly at: string }

/** What a run has come to: its answer, or the words so far. */
export type TaskOutput = { readonly runId: string; readonly parts: readonly Part[]; readonly isWhole: boolean }

/** A task with what belongs to it; `cursor` is where the log goes on from here, read in the same statement. */
export type TaskSnapshot = {
  readonly task: Task
  readonly messages: readonly TaskMessage[]
  readonly outputs: readonly TaskOutput[]
  readonly cursor: string
}

/** One event of a task's log. `cursor`: what a watcher shows to go on after it. */
export type TaskEvent = { readonly cursor: string; readonly at: string; readonly runId: string } & (
  | { readonly kind: 'state'; readonly state: TaskState; readonly said: NormalizedResponse | null }
  | { readonly kind: 'words'; readonly delta: string }
  /** The run is tried again: forget its words so far. */
  | { readonly kind: 'reset' }
  /** Its whole answer, in place of its words so far. */
  | { readonly kind: 'answer'; readonly said: NormalizedResponse }
  | { readonly kind: 'activity'; readonly type: string; readonly metadata: JsonObject }
)

/** What stands in the way of a task: a person has to decide about it. `isOver`: decided, or too late. */
export type TaskWait = {
  readonly id: string
  readonly taskId: string
  /** The run that waits, as its caller named it. */
  readonly runId: string | null
  readonly isOver: boolean
  /** Another run of the task has ended it: nothing goes on with it, the decision is made all the same. */
  readonly isTaskOver: boolean
  /** One line that says what would happen. */
  readonly summary: string
  readonly expiresAt: string
}

/** Who asks. `subject` null: a caller that has shown nothing but the id. */
export type TaskCaller = { readonly subject: string | null }

export type TaskQuery = {
  readonly agent?: string
  readonly contextId?: string
  readonly state?: TaskState
  /** Reached its state at this instant or later. */
  readonly since?: string
  readonly limit: number
  /** The `next` of the page before. */
  readonly after?: { readonly stateAt: string; readonly id: string }
}

export type TaskPage = { readonly tasks: readonly Task[]; readonly total: number; readonly hasMore: boolean }

/** Port: tasks of one connection, each seen by its owner alone. A task of another owner does not exist for the caller. */
export interface TaskService {
  /** The task a stored message belongs to, by the message's inbox id. */
  ofMessage(inboxId: string): Promise<string | undefined>
  /** Where the task's log stood before what became of the message: what comes behind it is about the message. */
  cursorBefore(inboxId: string): Promise<string>
  /** The task that a message of theirs asked for, by the id they gave the message. */
  ofMessageId(messageId: string, by: TaskCaller): Promise<string | undefined>
  find(id: string, by: TaskCaller): Promise<Task | undefined>
  read(id: string, by: TaskCaller): Promise<TaskSnapshot | undefined>
  list(query: TaskQuery, by: TaskCaller): Promise<TaskPage>
  /** Decisions that tasks of this conversation wait for. */
  waits(agent: string, contextId: string, by: TaskCaller): Promise<readonly TaskWait[]>
  /** Whether a conversation of this name belongs to another caller. */
  isForeignContext(agent: string, contextId: string, by: TaskCaller): Promise<boolean>
  /**
   * Stored events after `cursor` (`0`: from the beginning), in order; waits for more, ends after the task's last event or when
   * aborted. `state`: the one that was shown already. `isFresh`: it was stored just now, so there is nothing to see before
   * the next change is announced. A cursor that was never handed out yields nothing. A reader that stops early aborts.
   */
  watch(
    id: string,
    from: { readonly cursor: string; readonly state?: TaskState; readonly isFresh?: boolean },
    signal: AbortSignal,
  ): AsyncIterable<readonly TaskEvent[]>
  /**
   * Waits until the task rests (final, or waiting for its owner), at most so long; how it stands then. `isFresh`: it was stored
   * just now, so there is nothing to see before the next change is announced.
   */
  settled(
    id: string,
    by: TaskCaller,
    until: { readonly timeoutMs: number; readonly isFresh?: boolean },
    signal?: AbortSignal,
  ): Promise<TaskSnapshot | undefined>
  /** `over`: it had ended before. */
  cancel(id: string, by: TaskCaller): Promise<'cancelled' | 'over' | undefined>
  readonly push: PushConfigService
}

/** Where a caller wants to be notified about a task. Credentials are sealed at rest and read back only to send. */
export type PushConfig = {
  readonly taskId: string
  readonly id: string
  readonly url: string
  readonly token: string | null
  readonly scheme: string | null
  readonly credentials: string | null
  readonly dialect: string
}

export interface PushConfigService {
  /**
   * Under the same id: in place of the one before. `full`: the task has as many as it may. `isInline`: it came with the message
   * that asked for the task, so that whatever the task has reached meanwhile is told as well.
   */
  save(config: PushConfig, by: TaskCaller, isInline?: boolean): Promise<'saved' | 'full' | undefined>
  find(taskId: string, id: string, by: TaskCaller): Promise<PushConfig | undefined>
  list(taskId: string, by: TaskCaller): Promise<readonly PushConfig[] | undefined>
  /** False: there is no such task. One that is not there is as good as removed. */
  remove(taskId: string, id: string, by: TaskCaller): Promise<boolean>
  /** For notifying the receiver, whichever caller asked for it. Undefined: it was removed or disabled. */
  receiver(taskId: string, id: string): Promise<PushConfig | undefined>
  /** The task as its receivers are told about it. */
  reported(taskId: string): Promise<TaskSnapshot | undefined>
  /** The receiver is gone: nothing is sent there any more. */
  disable(taskId: string, id: string): Promise<void>
}
