// Renders tasks and replies: a task as its owner sees it, the last event of a run, parts, and the frames of a stream.

import {
  isKnownPart,
  type KnownPart,
  type NormalizedResponse,
  type Part,
  type Task,
  type TaskEvent,
  type TaskSnapshot,
  type TaskState,
  textOf,
} from '../../src/contract/index.ts'
import { decodeBase64, type Json, type JsonObject } from '../../src/lib/index.ts'
import { htmlToText, partsText } from '../../src/markdown/index.ts'
import {
  type A2aArtifact,
  type A2aCall,
  type A2aMessage,
  type A2aPart,
  type A2aStatus,
  type A2aTask,
  type StreamResponse,
  toWireStateName,
} from './protocol/objects.ts'
import { sayA2a } from './sentences.ts'

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

function renderStatus(task: Task, messages: TaskSnapshot['messages'], place: TaskContext): A2aStatus {
  // A submitted task waits for its turn: a message of an earlier turn is not its status.
  const last = task.state === 'submitted' ? undefined : messages.findLast((each) => each.role === 'agent')
  const messageId = last?.role === 'agent' ? last.runId : `${task.id}:${task.stateAt}`
  const message = statusMessage(task.state, task.said, messageId, place)
  return {
    state: toWireStateName(task.state),
    timestamp: task.stateAt,
    ...(message === undefined ? {} : { message }),
  }
}

function renderArtifacts(
  outputs: TaskSnapshot['outputs'],
  messages: TaskSnapshot['messages'],
  accepted: Accepted,
): readonly A2aArtifact[] {
  const asked = new Set<string>()
  for (const each of messages) if (each.role === 'agent' && !isResultMessage(each)) asked.add(each.runId)
  const artifacts: A2aArtifact[] = []
  for (const { runId, parts } of outputs) {
    const shown = asked.has(runId) ? [] : renderParts(selectResultParts(parts), accepted)
    if (shown.length > 0) artifacts.push({ artifactId: runId, parts: shown })
  }
  return artifacts
}

type TaskMessage = TaskSnapshot['messages'][number]

/** A question or a refusal is no result: it is said in the status. */
function isResultMessage({ said }: Extract<TaskMessage, { role: 'agent' }>): boolean {
  return said.status === 'completed'
}

function selectResultParts(parts: readonly Part[]): readonly Part[] {
  return parts.filter((part) => !isKnownPart(part) || part.kind !== 'policy')
}

/** The history: what was asked, and what was said on the way; the current status message and results are not in it. */
function renderHistory(
  messages: TaskSnapshot['messages'],
  { state, said }: Task,
  place: TaskContext,
  length: number | undefined,
): readonly A2aMessage[] | undefined {
  if (length === 0) return undefined
  const current =
    said !== null && state !== 'completed' && state !== 'submitted'
      ? messages.findLast((each) => each.role === 'agent')
      : undefined
  const history: A2aMessage[] = []
  for (const each of messages) {
    const isShown = each.role === 'user' || (!isResultMessage(each) && each !== current)
    if (isShown) history.push(historyMessage(each, place))
  }
  return length === undefined ? history : history.slice(-length)
}

function historyMessage(each: TaskMessage, place: TaskContext): A2aMessage {
  if (each.role === 'agent') return renderMessage(each.said, each.runId, place, each.said.status)
  const { taskId, contextId } = place
  // Written by this adapter when it was taken, from a message that had been checked.
  return { ...(each.payload as unknown as A2aMessage), contextId, taskId }
}

// What an agent said at a turn of its task is a message of the protocol: a question, a refusal, or why it failed.

export type TaskContext = { readonly taskId: string; readonly contextId: string; readonly accepted: Accepted }

/** Said where the agent gave no words of its own. */
function defaultStateText(state: TaskState): string {
  const isTold = state === 'input_required' || state === 'auth_required' || state === 'failed' || state === 'rejected'
  return isTold ? sayA2a(`a2a.${state}`) : ''
}

/** Undefined: the state says it all. Results are artifacts, so a completed task has nothing to say. */
function statusMessage(
  state: TaskState,
  said: NormalizedResponse | null,
  messageId: string,
  place: TaskContext,
): A2aMessage | undefined {
  if (state === 'completed' || state === 'working') return undefined
  const words = defaultStateText(state)
  if (said !== null) return renderMessage(said, messageId, place, words)
  return words === '' ? undefined : composeMessage([{ text: words }], undefined, messageId, place)
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

// A reply becomes the last event of its run, where clients that watch the task see it. Pure.

export function renderA2a(reply: NormalizedResponse): readonly { readonly call: A2aCall; readonly primary: boolean }[] {
  return [{ call: { event: { type: 'done', response: responseToJson(reply) } }, primary: true }]
}

/** A reply has passed its schema, so it is JSON; the round trip drops the fields that are merely undefined. */
function responseToJson(response: NormalizedResponse): JsonObject {
  return JSON.parse(JSON.stringify(response))
}

// Pure: bytes of stored files have been put in before.

/** What a reader takes; empty: anything. */
type Accepted = readonly string[]

export function renderParts(parts: readonly Part[], accepted: Accepted): readonly A2aPart[] {
  const shown: A2aPart[] = []
  for (const part of parts) if (isKnownPart(part)) shown.push(...toA2aParts(part, accepted))
  return shown
}

function toA2aParts(part: KnownPart, accepted: Accepted): readonly A2aPart[] {
  switch (part.kind) {
    case 'text':
      return renderText(part, accepted)
    case 'file':
    case 'artifact':
      return renderFile(part)
    case 'link':
      return [renderLink(part)]
    case 'tool_call':
      return [{ data: renderToolEvent(part) }]
    // Said in words beside the metadata that carries it.
    case 'policy':
      return part.policy.message.trim() === '' ? [] : [{ text: part.policy.message }]
    default:
      return part satisfies never
  }
}

function renderText({ mime, content }: Extract<KnownPart, { kind: 'text' }>, accepted: Accepted): readonly A2aPart[] {
  if (content === '') return []
  const isTaken = accepted.length === 0 || accepted.includes(mime) || accepted.includes('*/*')
  if (mime === 'text/html') return [isTaken ? { text: content, mediaType: mime } : { text: htmlToText(content) }]
  // Markdown reads well enough as it is written.
  return [mime === 'text/markdown' && isTaken ? { text: content, mediaType: mime } : { text: content }]
}

type FilePart = Extract<KnownPart, { kind: 'file' | 'artifact' }>

function renderFile(part: FilePart): readonly A2aPart[] {
  const { bytes_ref: ref, mime, name } = part
  const artifactType = part.kind === 'artifact' ? part.artifact_type : undefined
  const metadata = artifactType === undefined ? {} : { metadata: { mentionable: { artifact_type: artifactType } } }
  const about = {
    ...(name === undefined ? {} : { filename: name }),
    ...(mime === undefined ? {} : { mediaType: mime }),
    ...metadata,
  }
  if (ref.kind === 'inline') {
    const data = part.kind === 'artifact' && mayHoldJson(mime) ? decodeBase64Json(ref.data_base64) : undefined
    if (data === undefined) return [{ raw: ref.data_base64, ...about }]
    return [{ data: data.is, ...(name === undefined ? {} : { filename: name }), ...metadata }]
  }
  if (ref.kind !== 'channel' && ref.url !== undefined) return [{ url: ref.url, ...about }]
  const line = partsText([part])
  return line === '' ? [] : [{ text: line }]
}

/** Something behind an address that the agent knows the type of, or an address for people to follow. */
function renderLink(part: Extract<KnownPart, { kind: 'link' }>): A2aPart {
  const { url, title, description, mime } = part
  if (mime === undefined) return { text: partsText([part]) }
  const metadata = description === undefined ? {} : { metadata: { mentionable: { description } } }
  return { url, ...(title === undefined ? {} : { filename: title }), mediaType: mime, ...metadata }
}

/** The file store calls a file by what its bytes show, and JSON shows no more than text. */
function mayHoldJson(mime: string | undefined): boolean {
  return mime === undefined || mime === 'text/plain' || /[/+]json$/.test(mime)
}

function decodeBase64Json(base64: string): { readonly is: Json } | undefined {
  try {
    const bytes = decodeBase64(base64)
    return { is: JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes)) }
  } catch {
    return undefined
  }
}

/** A tool call and its result share an id: first without, then with the result. */
function renderToolEvent({ id, name, args, result, error }: Extract<KnownPart, { kind: 'tool_call' }>): Json {
  const call = { toolCallId: id, toolName: name }
  if (error !== undefined) return { type: 'tool-error', ...call, error: { message: error.message } }
  // What a model was given and gave back is JSON.
  if (result !== undefined) return { type: 'tool-result', ...call, output: result as Json }
  return { type: 'tool-call', ...call, input: (args ?? {}) as Json }
}

// A reader that joins a stream later sees the same frames from there on.

export type FrameRenderer = (event: TaskEvent) => StreamResponse | undefined

/** `begun`: what the reader has been shown already. */
export function createFrameRenderer(place: TaskContext, begun: Pick<TaskSnapshot, 'outputs'>): FrameRenderer {
  /** Words shown per run; undefined: the next ones replace them. */
  const shown = new Map<string, string | undefined>()
  /** Runs that have said something whole: what comes after it stands behind it. */
  const answered = new Set<string>()
  for (const { runId, parts, isWhole } of begun.outputs) {
    shown.set(runId, textOf(parts))
    if (isWhole) answered.add(runId)
  }
  return (event) => {
    switch (event.kind) {
      case 'state':
        return statusFrame(event, place)
      case 'words': {
        const before = shown.get(event.runId)
        if (event.delta === '') return undefined
        shown.set(event.runId, (before ?? '') + event.delta)
        return artifactFrame(event, place, [{ text: event.delta }], { append: before !== undefined, lastChunk: false })
      }
      case 'reset':
        shown.set(event.runId, undefined)
        return undefined
      case 'answer': {
        const words = shown.get(event.runId)
        const isMore = answered.has(event.runId)
        answered.add(event.runId)
        return answerFrame(event, place, words, isMore)
      }
      case 'activity':
        return event.type === 'notice' ? activityStatusFrame(event, place) : undefined
      default:
        return event satisfies never
    }
  }
}

type EventOf<Kind extends TaskEvent['kind']> = Extract<TaskEvent, { kind: Kind }>

function statusFrame({ state, said, at, runId }: EventOf<'state'>, place: TaskContext): StreamResponse {
  const { taskId, contextId } = place
  const message = statusMessage(state, said, runId === '' ? `${taskId}:${at}` : runId, place)
  const status = { state: toWireStateName(state), timestamp: at, ...(message === undefined ? {} : { message }) }
  return { statusUpdate: { taskId, contextId, status } }
}

/** Words on the way, as the status the task is in already. */
function activityStatusFrame({ metadata, at, cursor }: EventOf<'activity'>, place: TaskContext): StreamResponse {
  const { taskId, contextId } = place
  const said = { role: 'ROLE_AGENT', parts: [{ text: String(metadata['text'] ?? '') }] } as const
  const message = { messageId: `${taskId}:${cursor}`, contextId, taskId, ...said }
  return { statusUpdate: { taskId, contextId, status: { state: toWireStateName('working'), timestamp: at, message } } }
}

/** A question is said in the status that follows. */
function answerFrame(
  event: EventOf<'answer'>,
  place: TaskContext,
  words: string | undefined,
  isMore: boolean,
): StreamResponse | undefined {
  const { said } = event
  if (said.status !== 'completed') return undefined
  const parts = renderParts(selectResultParts(said.parts), place.accepted)
  if (parts.length === 0) return undefined
  if (isMore) return artifactFrame(event, place, parts, { append: true, lastChunk: true })
  // Nothing is sent twice: the words are there, and this says that they were all.
  const isSaid = words !== undefined && parts.length === 1 && parts[0]?.text === words
  if (isSaid) return artifactFrame(event, place, [{ text: '' }], { append: true, lastChunk: true })
  return artifactFrame(event, place, parts, { append: false, lastChunk: true })
}

function artifactFrame(
  { runId }: TaskEvent,
  { taskId, contextId }: TaskContext,
  parts: readonly A2aPart[],
  flags: { readonly append: boolean; readonly lastChunk: boolean },
): StreamResponse {
  return { artifactUpdate: { taskId, contextId, artifact: { artifactId: runId, parts }, ...flags } }
}
