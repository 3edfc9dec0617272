// The log of a task: its lines as events for clients that watch.

import { type NormalizedResponse, type TaskEvent, type TaskState, textPart } from '../contract/index.ts'
import type { TaskMessage, TaskOutput } from '../contract/tasks.ts'
import type { TaskLogLine, TaskLogPosition } from '../db/tasks.ts'
import type { JsonObject } from '../lib/json-value.ts'

const taskLogStart: TaskLogPosition = { order: -1, seq: -1 }
const taskLogEnd: TaskLogPosition = { order: Number.MAX_SAFE_INTEGER, seq: 0 }

/** Where a task's log begins, and where nothing comes any more. */
export const firstCursor = '0'
export const lastCursor = 'end'

/** Undefined: no such cursor was ever handed out. */
export function parseTaskCursor(cursor: string): TaskLogPosition | undefined {
  if (cursor === firstCursor) return taskLogStart
  if (cursor === lastCursor) return taskLogEnd
  const [, order, seq] = /^(\d{1,9})\.(\d{1,9})$/.exec(cursor) ?? []
  return order === undefined || seq === undefined ? undefined : { order: Number(order), seq: Number(seq) }
}

export function formatTaskCursor({ order, seq }: TaskLogPosition): string {
  return order < 0 ? firstCursor : `${order}.${seq}`
}

/** One line may say two things: the whole answer, and what state the task reached with it. */
export function toTaskEvents(line: TaskLogLine): readonly TaskEvent[] {
  const { event, runId, at } = line
  const facts = { cursor: formatTaskCursor(line), at, runId }
  switch (event['type']) {
    case 'started':
      return [{ ...facts, kind: 'state', state: 'working', said: null }]
    case 'text_delta':
      return [{ ...facts, kind: 'words', delta: String(eventMetadata(event)['delta'] ?? '') }]
    case 'reset':
      return [{ ...facts, kind: 'reset' }]
    // Read by operators alone, and by a way of their own.
    case 'exception':
      return []
    case 'done': {
      const said = readEventResponse(event)
      const state = event['task_state'] as TaskState | undefined
      // Only what a task was completed with is its result; whatever else is said is about the task.
      const answer: readonly TaskEvent[] = isTaskResult(state) ? [{ ...facts, kind: 'answer', said }] : []
      return state === undefined ? answer : [...answer, { ...facts, kind: 'state', state, said }]
    }
    default:
      return [{ ...facts, kind: 'activity', type: String(event['type']), metadata: eventMetadata(event) }]
  }
}

/** An extra message on the way is a result too. */
function isTaskResult(state: TaskState | undefined): boolean {
  return state === undefined || state === 'completed'
}

export function listAgentMessages(lines: readonly TaskLogLine[]): readonly TaskMessage[] {
  return lines
    .filter(({ event }) => event['type'] === 'done' && !isTaskResult(event['task_state'] as TaskState | undefined))
    .map(({ runId, at, event }) => ({ role: 'agent', runId, said: readEventResponse(event), at }))
}

/** Per run: its answer, else the words of its latest try. */
export function collectTaskOutputs(lines: readonly TaskLogLine[]): readonly TaskOutput[] {
  const outputs = new Map<string, TaskOutput>()
  for (const line of lines) {
    for (const event of toTaskEvents(line)) {
      const { runId } = event
      if (event.kind === 'answer') outputs.set(runId, appendAnswerParts(outputs.get(runId), runId, event.said.parts))
      if (event.kind === 'reset') outputs.delete(runId)
      if (event.kind === 'words') outputs.set(runId, appendDelta(outputs.get(runId), runId, event.delta))
    }
  }
  return [...outputs.values()]
}

/** What was said on the way stays, and what is said last comes behind it. */
function appendAnswerParts(before: TaskOutput | undefined, runId: string, parts: TaskOutput['parts']): TaskOutput {
  return { runId, parts: before?.isWhole === true ? [...before.parts, ...parts] : parts, isWhole: true }
}

function appendDelta(before: TaskOutput | undefined, runId: string, delta: string): TaskOutput {
  if (before?.isWhole === true) return before
  const [part] = before?.parts ?? []
  const text = part !== undefined && 'content' in part ? String(part.content) : ''
  return { runId, parts: [textPart(text + delta, 'text/markdown')], isWhole: false }
}

function eventMetadata(event: JsonObject): JsonObject {
  // Our own recorder writes every event so.
  return (event['metadata'] ?? {}) as JsonObject
}

function readEventResponse(event: JsonObject): NormalizedResponse {
  // Stored by the commit that ended the turn, from a reply that had passed its schema.
  return event['response'] as unknown as NormalizedResponse
}
