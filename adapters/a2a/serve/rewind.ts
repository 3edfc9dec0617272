// A task as it stood at an earlier place of its log, so that what is shown first and what follows fit together.
import {
  type JsonObject,
  type Part,
  type Task,
  type TaskEvent,
  type TaskService,
  type TaskSnapshot,
  textPart,
} from '../../../src/contract/index.ts'
import type { A2aMessage } from '../wire/objects.ts'
import type { A2aRequest } from './call.ts'

/** Before the first event of a log. */
const logStart = '0'

/** A task that has just begun, with the message that asked for it. */
export function begunSnapshot(task: Task, message: A2aMessage): TaskSnapshot {
  // As it came over the wire: JSON.
  const asked = { role: 'user', payload: message as unknown as JsonObject, at: task.createdAt } as const
  return { task, messages: [asked], outputs: [], cursor: logStart }
}

/** What its sender is shown first: the task as this message found it, with the message. */
export function snapshotBefore(now: TaskSnapshot, before: TaskSnapshot | undefined): TaskSnapshot {
  const { task, messages } = now
  const state = { state: 'submitted', said: null } as const
  if (before === undefined) {
    const begun: Task = { ...task, ...state, stateAt: task.createdAt }
    return { task: begun, messages: messages.slice(0, 1), outputs: [], cursor: logStart }
  }
  const asked = messages.findLastIndex(({ role }) => role === 'user')
  return { ...before, task: { ...before.task, ...state }, messages: messages.slice(0, asked + 1) }
}

/** For a reader that names the last event it saw: the task as of that event. Otherwise, and for an id of no event: as it is now. */
export async function snapshotAt(tasks: TaskService, now: TaskSnapshot, call: A2aRequest): Promise<TaskSnapshot> {
  const { lastEventId, signal } = call
  if (lastEventId === undefined || lastEventId === now.cursor) return now
  const start = snapshotBefore(now, undefined)
  if (lastEventId === logStart) return start
  const reading = new AbortController()
  const fold = createFold(start)
  const log = tasks.watch(now.task.id, { cursor: logStart }, AbortSignal.any([signal, reading.signal]))
  try {
    for await (const events of log) {
      for (const event of events) {
        fold.add(event)
        if (event.cursor === lastEventId) return { ...fold.task(), messages: now.messages, cursor: lastEventId }
      }
      // All there was when we looked: the id is of no event of this task.
      if (events.some(({ cursor }) => cursor === now.cursor)) return now
    }
    return now
  } finally {
    reading.abort()
  }
}

type Output = { readonly parts: readonly Part[]; readonly isWhole: boolean }
type Fold = { readonly add: (event: TaskEvent) => void; readonly task: () => Pick<TaskSnapshot, 'task' | 'outputs'> }

function createFold({ task: begun }: TaskSnapshot): Fold {
  let task = begun
  const outputs = new Map<string, Output>()
  const words = new Map<string, string>()
  return {
    add(event) {
      switch (event.kind) {
        case 'state':
          task = { ...task, state: event.state, stateAt: event.at, said: event.said }
          return
        case 'words': {
          const text = (words.get(event.runId) ?? '') + event.delta
          words.set(event.runId, text)
          outputs.set(event.runId, { parts: [textPart(text)], isWhole: false })
          return
        }
        case 'reset':
          words.delete(event.runId)
          outputs.delete(event.runId)
          return
        case 'answer':
          outputs.set(event.runId, appendOutput(outputs.get(event.runId), event.said.parts))
          return
        case 'activity':
          return
        default:
          return event satisfies never
      }
    },
    task: () => ({ task, outputs: [...outputs].map(([runId, output]) => ({ runId, ...output })) }),
  }
}

/** What was said on the way stays. */
function appendOutput(before: Output | undefined, parts: readonly Part[]): Output {
  return { parts: before?.isWhole === true ? [...before.parts, ...parts] : parts, isWhole: true }
}
