// What an agent said at a turn of its task, as a message of the protocol: a question, a refusal, or why it failed.
import { isKnownPart, type JsonObject, type NormalizedResponse, type TaskState } from '../../../src/contract/index.ts'
import type { A2aMessage, A2aPart } from '../wire/objects.ts'
import { type Accepted, renderParts } from './parts.ts'

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
