// Streams of tasks: a snapshot first, then what the log yields. Nothing is shown that is not stored, so a reader that loses a
// stream goes on behind the last id it saw.

import {
  isFinalState,
  type Part,
  type Task,
  type TaskEvent,
  type TaskService,
  type TaskSnapshot,
  textPart,
} from '../../../src/contract/index.ts'
import type { JsonObject } from '../../../src/lib/index.ts'
import { createFault, type Fault, isA2aFault } from '../protocol/faults.ts'
import type { A2aMessage } from '../protocol/objects.ts'
import { readSendRequest, readTaskRequest } from '../protocol/requests.ts'
import {
  createFrameRenderer,
  type FrameRenderer,
  renderMessage,
  renderTask,
  type TaskContext,
  type TaskView,
} from '../render.ts'
import {
  type A2aDeps,
  type A2aRequest,
  type Frame,
  isTaskOfAddress,
  type Operation,
  type Outcome,
  readOwnTask,
  valueOrFault,
} from './call.ts'
import { createPartFileInliner, inlineResponseFiles, inlineSnapshotFiles } from './inline-files.ts'
import { type AcceptedSend, acceptSentMessage } from './send-message.ts'

export const streamMessage: Operation = async (deps, call, params) => {
  const request = valueOrFault(readSendRequest(params))
  if (isA2aFault(request)) return request
  if (!deps.settings.streaming) return streamingUnsupportedFault()
  const taken = await acceptSentMessage(deps, call, request)
  if (isA2aFault(taken)) return taken
  const start = await chooseFirstSnapshot(deps, call, taken)
  if (isA2aFault(start)) return start
  const { historyLength, acceptedOutputModes: accepted } = request
  const view = { historyLength, includeArtifacts: true, accepted }
  return openTaskStream(deps, call, { start, view, isTurn: true, isFresh: taken.isNew })
}

/** What is shown first. A task that has just begun is known from the commit it began with. */
async function chooseFirstSnapshot(
  deps: A2aDeps,
  call: A2aRequest,
  taken: AcceptedSend,
): Promise<TaskSnapshot | Fault> {
  const { began, message, before, taskId } = taken
  if (began !== undefined && isTaskOfAddress(began, call)) return newTaskSnapshot(began, message)
  const now = await readOwnTask(deps, call, taskId)
  if (isA2aFault(now)) return now
  return taken.isNew ? snapshotWhenMessageArrived(now, before) : snapshotAtEvent(deps.tasks, now, call)
}

export const subscribeToTask: Operation = async (deps, call, params) => {
  const request = valueOrFault(readTaskRequest(params))
  if (isA2aFault(request)) return request
  if (!deps.settings.streaming) return streamingUnsupportedFault()
  const now = await readOwnTask(deps, call, request.id)
  if (isA2aFault(now)) return now
  if (isFinalState(now.task.state))
    return createFault('unsupported_operation', 'the task is over; get it instead of subscribing to it')
  const view = { historyLength: undefined, includeArtifacts: true, accepted: [] }
  return openTaskStream(deps, call, {
    start: await snapshotAtEvent(deps.tasks, now, call),
    view,
    isTurn: false,
    isFresh: false,
  })
}

function streamingUnsupportedFault(): Outcome {
  return createFault('unsupported_operation', 'this agent does not stream; send without streaming and get the task')
}

type Opening = {
  readonly start: TaskSnapshot
  readonly view: TaskView
  /** Ends where the agent's turn ends: when it asks for something. */
  readonly isTurn: boolean
  /** Nothing has happened to it since. */
  readonly isFresh: boolean
}

async function openTaskStream(
  deps: A2aDeps,
  call: A2aRequest,
  { start, view, isTurn, isFresh }: Opening,
): Promise<Outcome> {
  const { task } = start
  const place = { taskId: task.id, contextId: task.contextId, accepted: view.accepted }
  const isOver = isFinalState(task.state)
  const shown = await inlineSnapshotFiles(createPartFileInliner(deps.files), start)
  const first: Frame = { response: { task: renderTask(shown, view) }, id: start.cursor, isLast: isOver }
  if (isOver) return { kind: 'stream', first: [first], rest: emptyStream() }
  const log = deps.tasks.watch(task.id, { cursor: start.cursor, state: task.state, isFresh }, call.signal)
  const rest = followTaskLog(deps, log, { start, place, isTurn })
  const mayBeMessage = isTurn && deps.settings.directMessages
  if (mayBeMessage) return { kind: 'stream', first: [], rest: holdFramesUntilTaskKnown(first, rest, place) }
  return { kind: 'stream', first: [first], rest: pickRenderedFrames(rest) }
}

type Followed = { readonly event: TaskEvent; readonly frame: Frame | undefined }
type Following = { readonly start: TaskSnapshot; readonly place: TaskContext; readonly isTurn: boolean }

async function* followTaskLog(
  deps: A2aDeps,
  log: AsyncIterable<readonly TaskEvent[]>,
  { start, place, isTurn }: Following,
): AsyncGenerator<readonly Followed[]> {
  const framing = createFrameRenderer(place, start)
  let { state } = start.task
  for await (const events of log) {
    const followed: Followed[] = []
    for (const event of events) {
      // That it waits may stand in what was shown first.
      const isTold = event.kind === 'state' && event.state === 'submitted' && start.task.said !== null
      const isNews = event.kind !== 'state' || event.state !== state || (event.said !== null && !isTold)
      if (event.kind === 'state') state = event.state
      const isLast = event.kind === 'state' && (isFinalState(state) || (isTurn && state === 'input_required'))
      const response = isNews ? framing(await inlineEventFiles(deps, event)) : undefined
      const frame = response === undefined ? undefined : { response, id: event.cursor, isLast }
      followed.push({ event, frame })
      if (isLast) {
        yield followed
        return
      }
    }
    yield followed
  }
}

async function inlineEventFiles({ files }: A2aDeps, event: TaskEvent): Promise<Parameters<FrameRenderer>[0]> {
  if (event.kind === 'answer')
    return { ...event, said: await inlineResponseFiles(createPartFileInliner(files), event.said) }
  if (event.kind !== 'state' || event.said === null) return event
  return { ...event, said: await inlineResponseFiles(createPartFileInliner(files), event.said) }
}

async function* pickRenderedFrames(followed: AsyncIterable<readonly Followed[]>): AsyncGenerator<readonly Frame[]> {
  for await (const batch of followed) yield batch.flatMap(({ frame }) => (frame === undefined ? [] : [frame]))
}

/** Nothing is shown before it is known whether there will be a task to speak of: one message, or the task and all that followed. */
async function* holdFramesUntilTaskKnown(
  first: Frame,
  followed: AsyncIterable<readonly Followed[]>,
  place: TaskContext,
): AsyncGenerator<readonly Frame[]> {
  let held: Frame[] | undefined = [first]
  for await (const batch of followed) {
    const frames: Frame[] = []
    for (const { event, frame } of batch) {
      if (held !== undefined && event.kind === 'answer' && event.said.direct === true) {
        const { taskId: _none, ...message } = renderMessage(event.said, event.runId, place)
        yield [{ response: { message }, id: event.cursor, isLast: true }]
        return
      }
      const isQuiet = event.kind === 'state' && (event.state === 'submitted' || event.state === 'working')
      if (held !== undefined && !isQuiet) {
        frames.push(...held)
        held = undefined
      }
      if (frame !== undefined) (held ?? frames).push(frame)
    }
    yield frames
  }
  if (held !== undefined) yield held
}

async function* emptyStream(): AsyncGenerator<never> {}

// The snapshot is the task as it stood at an earlier place of its log, so that what is shown first and what follows fit together.

/** Before the first event of a log. */
const logStart = '0'

/** A task that has just begun, with the message that asked for it. */
function newTaskSnapshot(task: Task, message: A2aMessage): TaskSnapshot {
  // As it came over the wire: JSON.
  const asked = { role: 'user', payload: message as unknown as JsonObject, at: task.createdAt } as const
  return { task, messages: [asked], outputs: [], cursor: logStart }
}

/** What its sender is shown first: the task as this message found it, with the message. */
function snapshotWhenMessageArrived(now: TaskSnapshot, before: TaskSnapshot | undefined): TaskSnapshot {
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
async function snapshotAtEvent(tasks: TaskService, now: TaskSnapshot, call: A2aRequest): Promise<TaskSnapshot> {
  const { lastEventId, signal } = call
  if (lastEventId === undefined || lastEventId === now.cursor) return now
  const start = snapshotWhenMessageArrived(now, undefined)
  if (lastEventId === logStart) return start
  const reading = new AbortController()
  const fold = createSnapshotBuilder(start)
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

function createSnapshotBuilder({ task: begun }: TaskSnapshot): Fold {
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
