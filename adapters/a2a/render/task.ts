// A task as its owner sees it: its state, its results, what was said.
import {
  isKnownPart,
  type Part,
  type Task,
  type TaskMessage,
  type TaskOutput,
  type TaskSnapshot,
} from '../../../src/contract/index.ts'
import type { A2aArtifact, A2aMessage, A2aStatus, A2aTask } from '../wire/objects.ts'
import { stateName } from '../wire/states.ts'
import { type Accepted, renderParts } from './parts.ts'
import { renderMessage, statusMessage, type TaskContext } from './said.ts'

/** How much of it the caller asked for. */
export type TaskView = {
  /** Absent: all of it; 0: none. */
  readonly historyLength?: number | undefined
  readonly includeArtifacts: boolean
  readonly accepted: Accepted
}

type Shown = Pick<TaskSnapshot, 'task' | 'messages' | 'outputs'>

export function renderTask({ task, messages, outputs }: Shown, view: TaskView): A2aTask {
  const { id, contextId, metadata } = task
  const place = { taskId: id, contextId, accepted: view.accepted }
  const history = renderHistory(messages, task, place, view.historyLength)
  return {
    id,
    contextId,
    status: renderStatus(task, messages, place),
    ...(view.includeArtifacts ? { artifacts: renderArtifacts(outputs, messages, view.accepted) } : {}),
    ...(history === undefined ? {} : { history }),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
  }
}

function renderStatus(task: Task, messages: readonly TaskMessage[], place: TaskContext): A2aStatus {
  // A submitted task waits for its turn: a message of an earlier turn is not its status.
  const last = task.state === 'submitted' ? undefined : messages.findLast((each) => each.role === 'agent')
  const messageId = last?.role === 'agent' ? last.runId : `${task.id}:${task.stateAt}`
  const message = statusMessage(task.state, task.said, messageId, place)
  return {
    state: stateName(task.state),
    timestamp: task.stateAt,
    ...(message === undefined ? {} : { message }),
  }
}

function renderArtifacts(
  outputs: readonly TaskOutput[],
  messages: readonly TaskMessage[],
  accepted: Accepted,
): readonly A2aArtifact[] {
  const asked = new Set(
    messages.flatMap((each) => (each.role === 'agent' && !isResultMessage(each) ? [each.runId] : [])),
  )
  return outputs.flatMap(({ runId, parts }) => {
    const shown = asked.has(runId) ? [] : renderParts(selectResultParts(parts), accepted)
    return shown.length === 0 ? [] : [{ artifactId: runId, parts: shown }]
  })
}

/** A question or a refusal is no result: it is said in the status. */
function isResultMessage({ said }: Extract<TaskMessage, { role: 'agent' }>): boolean {
  return said.status === 'completed'
}

export function selectResultParts(parts: readonly Part[]): readonly Part[] {
  return parts.filter((part) => !isKnownPart(part) || part.kind !== 'policy')
}

/** The history: what was asked, and what was said on the way; the current status message and results are not in it. */
function renderHistory(
  messages: readonly TaskMessage[],
  { state, said }: Task,
  place: TaskContext,
  length: number | undefined,
): readonly A2aMessage[] | undefined {
  if (length === 0) return undefined
  const current =
    said !== null && state !== 'completed' && state !== 'submitted'
      ? messages.findLast((each) => each.role === 'agent')
      : undefined
  const shown = messages.filter((each) => each.role === 'user' || (isResultMessage(each) ? false : each !== current))
  const history = shown.map((each) => historyMessage(each, place))
  return length === undefined ? history : history.slice(-length)
}

function historyMessage(each: TaskMessage, place: TaskContext): A2aMessage {
  if (each.role === 'agent') return renderMessage(each.said, each.runId, place, each.said.status)
  const { taskId, contextId } = place
  // Written by this adapter when it was taken, from a message that had been checked.
  return { ...(each.payload as unknown as A2aMessage), contextId, taskId }
}
