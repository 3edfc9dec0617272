// The result of a task: the state of its row, and what the agent said; an agent that answers with a result of its own is heard
// in everything but whose it is. Pure.

import {
  isFinalState,
  isKnownPart,
  type Part,
  type Task,
  type TaskSnapshot,
  type TaskState,
  textOf,
} from '../contract/index.ts'
import { isPlainObject, jsonByteLength } from '../lib/index.ts'
import type { Fields, Json, JsonObject } from '../lib/json-value.ts'
import { type TaskResult, taskSchemaIds, taskStatuses } from './task-schemas.ts'

const statusByTaskState: Readonly<Record<TaskState, TaskResult['status']>> = {
  submitted: 'queued',
  working: 'running',
  input_required: 'running',
  auth_required: 'running',
  completed: 'succeeded',
  failed: 'failed',
  rejected: 'failed',
  cancelled: 'cancelled',
}
const metricNumbers = [
  'wall_time_ms',
  'startup_time_ms',
  'tool_call_count',
  'payload_bytes_in',
  'payload_bytes_out',
  'artifact_bytes',
]
const metricTexts = ['environment', 'executor_id', 'failure_class']

export function taskResult({ task, messages, outputs }: TaskSnapshot): TaskResult {
  const parts = outputs.flatMap((output) => output.parts)
  const own = readAgentResult(parts)
  const { run_id: runId, session_id: sessionId, task_id: taskId, metadata } = task.metadata
  return {
    schema: taskSchemaIds.result,
    // Whose run it is says the row, never the executor.
    run_id: String(runId ?? task.id),
    session_id: String(sessionId ?? task.contextId),
    executor_id: task.agent,
    status:
      task.state === 'completed'
        ? readStatusGivenByExecutor(own?.['status'], 'succeeded')
        : statusByTaskState[task.state],
    execution_metrics: taskMetrics(task, own?.['execution_metrics'], { in: messages, out: parts }),
    artifact_refs: [...parts.flatMap(toArtifactRefs), ...keepJsonObjects(own?.['artifact_refs'])],
    diagnostics: { ...taskDiagnostics(task), ...jsonObjectOrEmpty(own?.['diagnostics']) },
    events: [{ type: 'state', state: task.state, created_at: task.stateAt }, ...keepJsonObjects(own?.['events'])],
    provenance: {
      ...jsonObjectOrEmpty(own?.['provenance']),
      gateway: 'parley',
      task_id: String(taskId ?? ''),
      task: task.id,
    },
    output: own === undefined ? taskOutput(parts) : ((own['output'] ?? null) as Json),
    started_at: task.createdAt,
    updated_at: task.stateAt,
    metadata: { ...jsonObjectOrEmpty(own?.['metadata']), ...jsonObjectOrEmpty(metadata), state: task.state },
  }
}

/** Upper case and blanks do not matter; what is no end of a task does not count for one that has ended. */
export function readStatusGivenByExecutor(given: unknown, known: TaskResult['status']): TaskResult['status'] {
  const word = typeof given === 'string' ? given.trim().toLowerCase() : ''
  const status = taskStatuses.find((each) => each === word)
  return status === undefined || ['queued', 'running', 'cancelling'].includes(status) ? known : status
}

/** Negative and other than numbers are no measure. */
export function readTaskMetrics(given: unknown): JsonObject {
  const fields = jsonObjectOrEmpty(given)
  const numbers = metricNumbers.filter((name) => Number(fields[name]) >= 0 && typeof fields[name] === 'number')
  const texts = metricTexts.filter((name) => typeof fields[name] === 'string')
  return Object.fromEntries([...numbers, ...texts].map((name) => [name, fields[name] as Json]))
}

/** The agent's whole answer is a result under its schema id. */
function readAgentResult(parts: readonly Part[]): Fields | undefined {
  const text = textOf(parts).trim()
  if (!text.startsWith('{') || !text.includes(taskSchemaIds.result)) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return isPlainObject(value) && value['schema'] === taskSchemaIds.result ? value : undefined
  } catch {
    return undefined
  }
}

function taskMetrics(task: Task, given: unknown, said: { readonly in: unknown; readonly out: unknown }): JsonObject {
  const wall = isFinalState(task.state) ? { wall_time_ms: Date.parse(task.stateAt) - Date.parse(task.createdAt) } : {}
  const bytes = { payload_bytes_in: jsonByteLength(said.in), payload_bytes_out: jsonByteLength(said.out) }
  return { ...wall, ...bytes, ...readTaskMetrics(given), environment: 'parley', executor_id: task.agent }
}

function taskDiagnostics({ state, said }: Task): JsonObject {
  const words = said === null ? '' : textOf(said.parts)
  const waits = state === 'input_required' || state === 'auth_required' ? { waiting_for: state } : {}
  if (state === 'completed' || words === '') return waits
  return { ...waits, summary: words, ...(said?.error === undefined ? {} : { error: said.error.code }) }
}

function taskOutput(parts: readonly Part[]): Json {
  return parts.length === 0 ? null : { text: textOf(parts) }
}

function toArtifactRefs(part: Part): readonly JsonObject[] {
  if (!isKnownPart(part) || (part.kind !== 'file' && part.kind !== 'artifact')) return []
  const { name, mime, attachment } = part
  return [
    {
      type: part.kind,
      ...(name === undefined ? {} : { label: name }),
      ...(mime === undefined ? {} : { mime_type: mime }),
      ...(attachment === undefined ? {} : { id: attachment.id, bucket: attachment.bucket, path: attachment.path }),
    },
  ]
}

/** Parsed from JSON, so JSON is all it holds. */
function jsonObjectOrEmpty(value: unknown): JsonObject {
  return isPlainObject(value) ? (value as JsonObject) : {}
}

function keepJsonObjects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isPlainObject).map(jsonObjectOrEmpty) : []
}
