// Streams: a snapshot first, then what the log yields. Nothing is shown that is not stored, so a reader that loses a
// stream goes on behind the last id it saw.
import { isFinalState, type TaskEvent, type TaskSnapshot } from '../../../src/contract/index.ts'
import { createFraming, type Framing } from '../render/frames.ts'
import { messageTo, type Place } from '../render/said.ts'
import { type TaskView, taskTo } from '../render/task.ts'
import { type Fault, fault, isFault } from '../wire/faults.ts'
import { readSend, readTask } from '../wire/requests.ts'
import { type A2aDeps, type Call, type Frame, type Operation, type Outcome, readOr } from './call.ts'
import { isHere, readTaskOf } from './find-task.ts'
import { begunSnapshot, snapshotAt, snapshotBefore } from './rewind.ts'
import { fillParts, fillSaid, fillSnapshot } from './stored-bytes.ts'
import { type Taken, takeSend } from './take.ts'

export const streamMessage: Operation = async (deps, call, params) => {
  const request = readOr(readSend(params))
  if (isFault(request)) return request
  if (!deps.settings.streaming) return streamingIsOff()
  const taken = await takeSend(deps, call, request)
  if (isFault(taken)) return taken
  const start = await startOf(deps, call, taken)
  if (isFault(start)) return start
  const { historyLength, acceptedOutputModes: accepted } = request
  const view = { historyLength, includeArtifacts: true, accepted }
  return open(deps, call, { start, view, isTurn: true, isFresh: taken.isNew })
}

/** What is shown first. A task that has just begun is known from the commit it began with. */
async function startOf(deps: A2aDeps, call: Call, taken: Taken): Promise<TaskSnapshot | Fault> {
  const { began, message, before, taskId } = taken
  if (began !== undefined && isHere(began, call)) return begunSnapshot(began, message)
  const now = await readTaskOf(deps, call, taskId)
  if (isFault(now)) return now
  return taken.isNew ? snapshotBefore(now, before) : snapshotAt(deps.tasks, now, call)
}

export const subscribeToTask: Operation = async (deps, call, params) => {
  const request = readOr(readTask(params))
  if (isFault(request)) return request
  if (!deps.settings.streaming) return streamingIsOff()
  const now = await readTaskOf(deps, call, request.id)
  if (isFault(now)) return now
  if (isFinalState(now.task.state))
    return fault('unsupported_operation', 'the task is over; get it instead of subscribing to it')
  const view = { historyLength: undefined, includeArtifacts: true, accepted: [] }
  return open(deps, call, { start: await snapshotAt(deps.tasks, now, call), view, isTurn: false, isFresh: false })
}

function streamingIsOff(): Outcome {
  return fault('unsupported_operation', 'this agent does not stream; send without streaming and get the task')
}

type Opening = {
  readonly start: TaskSnapshot
  readonly view: TaskView
  /** Ends where the agent's turn ends: when it asks for something. */
  readonly isTurn: boolean
  /** Nothing has happened to it since. */
  readonly isFresh: boolean
}

async function open(deps: A2aDeps, call: Call, { start, view, isTurn, isFresh }: Opening): Promise<Outcome> {
  const { task } = start
  const place = { taskId: task.id, contextId: task.contextId, accepted: view.accepted }
  const isOver = isFinalState(task.state)
  const shown = await fillSnapshot(fillParts(deps.files), start)
  const first: Frame = { response: { task: taskTo(shown, view) }, id: start.cursor, isLast: isOver }
  if (isOver) return { kind: 'stream', first: [first], rest: nothing() }
  const log = deps.tasks.watch(task.id, { cursor: start.cursor, state: task.state, isFresh }, call.signal)
  const rest = follow(deps, log, { start, place, isTurn })
  const mayBeMessage = isTurn && deps.settings.directMessages
  if (mayBeMessage) return { kind: 'stream', first: [], rest: undecided(first, rest, place) }
  return { kind: 'stream', first: [first], rest: framesOf(rest) }
}

type Followed = { readonly event: TaskEvent; readonly frame: Frame | undefined }
type Following = { readonly start: TaskSnapshot; readonly place: Place; readonly isTurn: boolean }

async function* follow(
  deps: A2aDeps,
  log: AsyncIterable<readonly TaskEvent[]>,
  { start, place, isTurn }: Following,
): AsyncGenerator<readonly Followed[]> {
  const framing = createFraming(place, start)
  let { state } = start.task
  for await (const events of log) {
    const followed: Followed[] = []
    for (const event of events) {
      // That it waits may stand in what was shown first.
      const isTold = event.kind === 'state' && event.state === 'submitted' && start.task.said !== null
      const isNews = event.kind !== 'state' || event.state !== state || (event.said !== null && !isTold)
      if (event.kind === 'state') state = event.state
      const isLast = event.kind === 'state' && (isFinalState(state) || (isTurn && state === 'input_required'))
      const response = isNews ? framing(await filled(deps, event)) : undefined
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

async function filled({ files }: A2aDeps, event: TaskEvent): Promise<Parameters<Framing>[0]> {
  if (event.kind === 'answer') return { ...event, said: await fillSaid(fillParts(files), event.said) }
  if (event.kind !== 'state' || event.said === null) return event
  return { ...event, said: await fillSaid(fillParts(files), event.said) }
}

async function* framesOf(followed: AsyncIterable<readonly Followed[]>): AsyncGenerator<readonly Frame[]> {
  for await (const batch of followed) yield batch.flatMap(({ frame }) => (frame === undefined ? [] : [frame]))
}

/** Nothing is shown before it is known whether there will be a task to speak of: one message, or the task and all that followed. */
async function* undecided(
  first: Frame,
  followed: AsyncIterable<readonly Followed[]>,
  place: Place,
): AsyncGenerator<readonly Frame[]> {
  let held: Frame[] | undefined = [first]
  for await (const batch of followed) {
    const frames: Frame[] = []
    for (const { event, frame } of batch) {
      if (held !== undefined && event.kind === 'answer' && event.said.direct === true) {
        const { taskId: _none, ...message } = messageTo(event.said, event.runId, place)
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

async function* nothing(): AsyncGenerator<never> {}
