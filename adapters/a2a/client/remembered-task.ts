// What a conversation remembers of a remote agent: its task and context, and where they are.
import type { JsonObject, RemoteMemory } from '../../../src/contract/index.ts'
import { asFields } from '../../../src/lib/index.ts'
import { isTaskWaiting, type RemoteState } from './task.ts'
import type { RemoteInterface } from './wire.ts'

export type RememberedTask = {
  readonly at: RemoteInterface
  readonly contextId: string
  /** Absent where it answered without a task. */
  readonly taskId?: string
  readonly state: RemoteState
  /** Which of its waits the next message ends. */
  readonly wait?: string
}

export function rememberTask({ at, ...task }: RememberedTask): RemoteMemory {
  return { ...task, at: { ...at }, isWaiting: isTaskWaiting(task.state) }
}

export function rememberedTask(memory: JsonObject | undefined): RememberedTask | undefined {
  const { at, contextId, state } = asFields(memory)
  const { url, binding, dialect } = asFields(at)
  if (typeof url !== 'string' || typeof binding !== 'string' || typeof dialect !== 'string') return undefined
  if (typeof contextId !== 'string' || typeof state !== 'string') return undefined
  // Written above, by this release or one before it.
  return memory as unknown as RememberedTask
}
