// What the commit that ends a turn returns to its worker.
import type { TaskRecord } from '../tasks/task-store.ts'

export type EndedTurn = {
  /** There is something to send. */
  readonly hasSends: boolean
  /** The task as of that commit, where it was asked for and can be told. */
  readonly task: TaskRecord | null
}
