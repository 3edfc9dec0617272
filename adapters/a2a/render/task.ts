// A task as its owner sees it: its state, its results, what was said.
import {
  isKnownPart,
  type JsonObject,
  type NormalizedResponse,
  type Part,
  type Task,
  type TaskMessage,
  type TaskOutput,
  type TaskSnapshot,
  type TaskState,
} from '../../../src/contract/index.ts'
import {
  type A2aArtifact,
  type A2aCall,
  type A2aMessage,
  type A2aPart,
  type A2aStatus,
  type A2aTask,
  stateName,
} from '../protocol/objects.ts'
import { type Accepted, renderParts } from './parts.ts'

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

// What an agent said at a turn of its task, as a message of the protocol: a question, a refusal, or why it failed.

export type TaskContext = { readonly taskId: string; readonly contextId: string; readonly accepted: Accepted }

/** Said where the agent gave no words of its own. */
const sentences: Readonly<Record<TaskState, string>> = {
  submitted: '',
  working: '',
  input_required: 'More information is needed to go on.',
  auth_required: 'Authorization is needed to go on.',
  completed: '',
  failed: 'The task failed.',
  cancelled: '',
  rejected: 'The request was rejected.',
}

/** Undefined: the state says it all. Results are artifacts, so a completed task has nothing to say. */
export function statusMessage(
  state: TaskState,
  said: NormalizedResponse | null,
  messageId: string,
  place: TaskContext,
): A2aMessage | undefined {
  if (state === 'completed' || state === 'working') return undefined
  if (said !== null) return renderMessage(said, messageId, place, sentences[state])
  return sentences[state] === '' ? undefined : composeMessage([{ text: sentences[state] }], undefined, messageId, place)
}

/** Of an error only the text that the agent wrote for people: its message may quote anything. */
export function renderMessage(
  said: NormalizedResponse,
  messageId: string,
  place: TaskContext,
  otherwise = '',
): A2aMessage {
  const parts = renderParts(said.parts, place.accepted)
  return composeMessage(parts.length === 0 ? [{ text: otherwise }] : parts, a2aMessageMetadata(said), messageId, place)
}

function composeMessage(
  parts: readonly A2aPart[],
  metadata: JsonObject | undefined,
  messageId: string,
  { taskId, contextId }: TaskContext,
): A2aMessage {
  const about = metadata === undefined ? {} : { metadata }
  return { messageId, contextId, taskId, role: 'ROLE_AGENT', parts, ...about }
}

/** The policy part itself for machines, beside its words; and by which rule a chain of agents ended. */
function a2aMessageMetadata({ parts, error }: NormalizedResponse): JsonObject | undefined {
  const [policy] = parts.flatMap((part) => (isKnownPart(part) && part.kind === 'policy' ? [part.policy] : []))
  const refusal = error?.code.startsWith('gw:') === true ? { refusal: error.code } : {}
  // Policy parts have passed their schema, and JSON is all they hold.
  const mentionable = { ...(policy === undefined ? {} : { policy: policy as JsonObject }), ...refusal }
  return Object.keys(mentionable).length === 0 ? undefined : { mentionable }
}

// Hop 8: the reply becomes the last event of its run, where clients that watch the task see it. Pure.

export function renderA2a(reply: NormalizedResponse): readonly { readonly call: A2aCall; readonly primary: boolean }[] {
  return [{ call: { event: { type: 'done', response: responseToJson(reply) } }, primary: true }]
}

/** A reply has passed its schema, so it is JSON; the round trip drops the fields that are merely undefined. */
function responseToJson(response: NormalizedResponse): JsonObject {
  return JSON.parse(JSON.stringify(response))
}
