// Events of a task's log as frames of a stream. A reader that joins later sees the same frames from there on.
import { type TaskEvent, type TaskSnapshot, textOf } from '../../../src/contract/index.ts'
import { type A2aPart, type StreamResponse, stateName } from '../protocol/objects.ts'
import { renderParts } from './parts.ts'
import { selectResultParts, statusMessage, type TaskContext } from './task.ts'

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
        return event.type === 'notice' ? noticeFrame(event, place) : undefined
      default:
        return event satisfies never
    }
  }
}

type EventOf<Kind extends TaskEvent['kind']> = Extract<TaskEvent, { kind: Kind }>

function statusFrame({ state, said, at, runId }: EventOf<'state'>, place: TaskContext): StreamResponse {
  const { taskId, contextId } = place
  const message = statusMessage(state, said, runId === '' ? `${taskId}:${at}` : runId, place)
  const status = { state: stateName(state), timestamp: at, ...(message === undefined ? {} : { message }) }
  return { statusUpdate: { taskId, contextId, status } }
}

/** Words on the way, as the status the task is in already. */
function noticeFrame({ metadata, at, cursor }: EventOf<'activity'>, place: TaskContext): StreamResponse {
  const { taskId, contextId } = place
  const said = { role: 'ROLE_AGENT', parts: [{ text: String(metadata['text'] ?? '') }] } as const
  const message = { messageId: `${taskId}:${cursor}`, contextId, taskId, ...said }
  return { statusUpdate: { taskId, contextId, status: { state: stateName('working'), timestamp: at, message } } }
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
