// Streams (a2a 2.5, 9.4): a snapshot first, then what the log yields. Nothing is shown that is not stored, so whoever loses a
// stream goes on behind the last id it saw.
import { isFinalState, type TaskEvent, type TaskSnapshot } from '../../../src/contract/index.ts'
import { createFraming, type Framing } from '../render/frames.ts'
import { messageTo, type Place } from '../render/said.ts'
import { type TaskView, taskTo } from '../render/task.ts'
import { fault, isFault } from '../wire/faults.ts'
import { readSend, readTask } from '../wire/requests.ts'
import { type A2aDeps, type Call, type Frame, type Operation, type Outcome, readOr } from './call.ts'
import { readTaskOf } from './find-task.ts'
import { snapshotAt, snapshotBefore } from './rewind.ts'
import { fillParts, fillSaid, fillSnapshot } from './stored-bytes.ts'
import { isOtherBody, reusedId, takeSend } from './take.ts'

export const streamMessage: Operation = async (deps, call, params) => {
  const request = readOr(readSend(params))
  if (isFault(request)) return request
  if (!deps.settings.streaming) return streamingIsOff()
  const taken = await takeSend(deps, call, request)
  if (isFault(taken)) return taken
  const now = await readTaskOf(deps, call, taken.taskId)
  if (isFault(now)) return now
  if (isOtherBody(deps, now.messages, taken.message)) return reusedId()
  const { historyLength, acceptedOutputModes: accepted } = request
  const view = { historyLength, includeArtifacts: true, accepted }
  const start = taken.isNew ? snapshotBefore(now, taken.before) : await snapshotAt(deps.tasks, now, call)
  return open(deps, call, { start, view, isTurn: true })
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
  return open(deps, call, { start: await snapshotAt(deps.tasks, now, call), view, isTurn: false })
}

function streamingIsOff(): Outcome {
  return fault('unsupported_operation', 'this agent does not stream; send without streaming and get the task')
}

type Opening = {
  readonly start: TaskSnapshot
  readonly view: TaskView
  /** Ends where the agent's turn ends: when it asks for something. */
  readonly isTurn: boolean
}

async function open(deps: A2aDeps, call: Call, { start, view, isTurn }: Opening): Promise<Outcome> {
  const { task } = start
  const place = { taskId: task.id, contextId: task.contextId, accepted: view.accepted }
  const shown = await fillSnapshot(fillParts(deps.files), start)
  const isOver = isFinalState(task.state)
  const first: Frame = { response: { task: taskTo(shown, view) }, id: start.cursor, isLast: isOver }
  if (isOver) return { kind: 'stream', first: [first], rest: nothing() }
  const rest = follow(deps, call, { start, place, isTurn })
  const mayBeMessage = isTurn && deps.settings.directMessages
  if (mayBeMessage) return { kind: 'stream', first: [], rest: undecided(first, rest, place) }
  return { kind: 'stream', first: [first], rest: framesOf(rest) }
}

type Followed = { readonly event: TaskEvent; readonly frame: Frame | undefined }
type Following = { readonly start: TaskSnapshot; readonly place: Place; readonly isTurn: boolean }

async function* follow(
  deps: A2aDeps,
  { signal }: Call,
  { start, place, isTurn }: Following,
): AsyncGenerator<readonly Followed[]> {
  const framing = createFraming(place, start)
  let { state } = start.task
  for await (const events of deps.tasks.watch(start.task.id, { cursor: start.cursor, state }, signal)) {
    const followed: Followed[] = []
    for (const event of events) {
      const isNews = event.kind !== 'state' || event.state !== state || event.said !== null
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

async function* nothing(): AsyncGenerator<readonly Frame[]> {}
