// Streams: a snapshot first, then what the log yields. Nothing is shown that is not stored, so a reader that loses a
// stream goes on behind the last id it saw.
import { isFinalState, type TaskEvent, type TaskSnapshot } from '../../../src/contract/index.ts'
import { createFrameRenderer, type FrameRenderer } from '../render/frames.ts'
import { renderMessage, type TaskContext } from '../render/said.ts'
import { renderTask, type TaskView } from '../render/task.ts'
import { createFault, type Fault, isA2aFault } from '../wire/faults.ts'
import { readSendRequest, readTaskRequest } from '../wire/requests.ts'
import { type A2aDeps, type A2aRequest, type Frame, type Operation, type Outcome, valueOrFault } from './call.ts'
import { isTaskOfAddress, readOwnTask } from './find-task.ts'
import { begunSnapshot, snapshotAt, snapshotBefore } from './rewind.ts'
import { inlinePartFiles, inlineResponseFiles, inlineSnapshotFiles } from './stored-bytes.ts'
import { type AcceptedSend, acceptSend } from './take.ts'

export const streamMessage: Operation = async (deps, call, params) => {
  const request = valueOrFault(readSendRequest(params))
  if (isA2aFault(request)) return request
  if (!deps.settings.streaming) return streamingIsOff()
  const taken = await acceptSend(deps, call, request)
  if (isA2aFault(taken)) return taken
  const start = await streamStart(deps, call, taken)
  if (isA2aFault(start)) return start
  const { historyLength, acceptedOutputModes: accepted } = request
  const view = { historyLength, includeArtifacts: true, accepted }
  return openTaskStream(deps, call, { start, view, isTurn: true, isFresh: taken.isNew })
}

/** What is shown first. A task that has just begun is known from the commit it began with. */
async function streamStart(deps: A2aDeps, call: A2aRequest, taken: AcceptedSend): Promise<TaskSnapshot | Fault> {
  const { began, message, before, taskId } = taken
  if (began !== undefined && isTaskOfAddress(began, call)) return begunSnapshot(began, message)
  const now = await readOwnTask(deps, call, taskId)
  if (isA2aFault(now)) return now
  return taken.isNew ? snapshotBefore(now, before) : snapshotAt(deps.tasks, now, call)
}

export const subscribeToTask: Operation = async (deps, call, params) => {
  const request = valueOrFault(readTaskRequest(params))
  if (isA2aFault(request)) return request
  if (!deps.settings.streaming) return streamingIsOff()
  const now = await readOwnTask(deps, call, request.id)
  if (isA2aFault(now)) return now
  if (isFinalState(now.task.state))
    return createFault('unsupported_operation', 'the task is over; get it instead of subscribing to it')
  const view = { historyLength: undefined, includeArtifacts: true, accepted: [] }
  return openTaskStream(deps, call, {
    start: await snapshotAt(deps.tasks, now, call),
    view,
    isTurn: false,
    isFresh: false,
  })
}

function streamingIsOff(): Outcome {
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
  const shown = await inlineSnapshotFiles(inlinePartFiles(deps.files), start)
  const first: Frame = { response: { task: renderTask(shown, view) }, id: start.cursor, isLast: isOver }
  if (isOver) return { kind: 'stream', first: [first], rest: emptyStream() }
  const log = deps.tasks.watch(task.id, { cursor: start.cursor, state: task.state, isFresh }, call.signal)
  const rest = followLog(deps, log, { start, place, isTurn })
  const mayBeMessage = isTurn && deps.settings.directMessages
  if (mayBeMessage) return { kind: 'stream', first: [], rest: holdUntilDecided(first, rest, place) }
  return { kind: 'stream', first: [first], rest: toFrames(rest) }
}

type Followed = { readonly event: TaskEvent; readonly frame: Frame | undefined }
type Following = { readonly start: TaskSnapshot; readonly place: TaskContext; readonly isTurn: boolean }

async function* followLog(
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
  if (event.kind === 'answer') return { ...event, said: await inlineResponseFiles(inlinePartFiles(files), event.said) }
  if (event.kind !== 'state' || event.said === null) return event
  return { ...event, said: await inlineResponseFiles(inlinePartFiles(files), event.said) }
}

async function* toFrames(followed: AsyncIterable<readonly Followed[]>): AsyncGenerator<readonly Frame[]> {
  for await (const batch of followed) yield batch.flatMap(({ frame }) => (frame === undefined ? [] : [frame]))
}

/** Nothing is shown before it is known whether there will be a task to speak of: one message, or the task and all that followed. */
async function* holdUntilDecided(
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
