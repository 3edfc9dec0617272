// What a conversation remembers of a remote agent: its task and context, and where they are. A line of the transcript, stored
// with the turn that came to it and erased with the session; no model and no person is shown it.
import { type Envelope, envelopeSchemaId, envelopeVersion, type JsonObject } from '../../contract/index.ts'
import { asFields } from '../../lib/index.ts'
import { isTaskWaiting, type RemoteState } from './task.ts'
import type { RemoteInterface } from './wire.ts'

export type RememberedTask = {
  readonly at: RemoteInterface
  readonly contextId: string
  /** Absent where it answered without a task. */
  readonly taskId?: string
  readonly state: RemoteState
  /** Which of its waits the next message ends. */
  readonly wait?: string
}

const lineType = 'remote_task'

export function isRemoteTaskLine({ metadata }: Envelope): boolean {
  return metadata['type'] === lineType
}

export function remoteTaskLine(agent: string, { at, contextId, taskId, state, wait }: RememberedTask): Envelope {
  const payload: JsonObject = {
    agent,
    interface: { ...at },
    context_id: contextId,
    ...(taskId === undefined ? {} : { task_id: taskId }),
    state,
    ...(wait === undefined ? {} : { wait }),
  }
  return {
    schema: envelopeSchemaId,
    version: envelopeVersion,
    type: 'text',
    role: 'system',
    content: '',
    payload,
    metadata: { type: lineType },
  }
}

/** The newest one of this agent. */
export function rememberedTask(lines: readonly Envelope[], agent: string): RememberedTask | undefined {
  const line = lines.findLast((each) => isRemoteTaskLine(each) && each.payload['agent'] === agent)
  if (line === undefined) return undefined
  const { interface: at, context_id, task_id, state, wait } = line.payload
  const { url, binding, dialect } = asFields(at)
  if (typeof url !== 'string' || typeof binding !== 'string' || typeof dialect !== 'string') return undefined
  if (typeof context_id !== 'string' || typeof state !== 'string') return undefined
  // Written above, by this release or one before it.
  const known = { at: asFields(at) as unknown as RemoteInterface, contextId: context_id, state: state as RemoteState }
  const task = typeof task_id === 'string' ? { taskId: task_id } : {}
  return { ...known, ...task, ...(typeof wait === 'string' ? { wait } : {}) }
}

/** The newest line of each agent that still waits for a person: what a call by another agent goes on with. */
export function waitingTaskLines(lines: readonly Envelope[]): readonly Envelope[] {
  const newest = new Map(lines.filter(isRemoteTaskLine).map((line) => [String(line.payload['agent']), line]))
  return [...newest].flatMap(([agent, line]) => {
    const known = rememberedTask([line], agent)
    return known !== undefined && isTaskWaiting(known.state) ? [line] : []
  })
}
