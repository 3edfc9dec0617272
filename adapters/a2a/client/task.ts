// Tasks, messages and events of a remote agent, in our own words. No wire name gets in here.
import type { TaskState } from '../../../src/contract/index.ts'
import type { A2aPart } from '../protocol/objects.ts'

/** `unknown` is a state from the future: it is waited out like one that works. */
export type RemoteState = TaskState | 'unknown'

export type RemoteMessage = {
  readonly messageId: string
  readonly contextId?: string
  readonly isFromAgent: boolean
  readonly parts: readonly A2aPart[]
  /** By which rule a chain of agents ended there, where it is one we know. */
  readonly refusal?: ChainRefusal
}

export const chainRefusals = ['gw:hop_limit', 'gw:agent_loop'] as const
export type ChainRefusal = (typeof chainRefusals)[number]

export type RemoteArtifact = { readonly id: string; readonly name?: string; readonly parts: readonly A2aPart[] }

export type RemoteTask = {
  readonly id: string
  readonly contextId?: string
  readonly state: RemoteState
  /** When it came to that, as the peer tells it. */
  readonly stateAt?: string
  /** What was said with the state. */
  readonly said?: RemoteMessage
  readonly artifacts: readonly RemoteArtifact[]
  readonly history: readonly RemoteMessage[]
}

export type RemoteEvent =
  | { readonly kind: 'task'; readonly task: RemoteTask }
  | { readonly kind: 'message'; readonly message: RemoteMessage }
  | {
      readonly kind: 'status'
      readonly taskId: string
      readonly contextId?: string
      readonly state: RemoteState
      readonly stateAt?: string
      readonly said?: RemoteMessage
    }
  | {
      readonly kind: 'artifact'
      readonly taskId: string
      readonly contextId?: string
      readonly artifact: RemoteArtifact
      readonly isAppended: boolean
    }

const overStates: ReadonlySet<RemoteState> = new Set(['completed', 'failed', 'cancelled', 'rejected'])
const openStates: ReadonlySet<RemoteState> = new Set(['input_required', 'auth_required'])

export function isTaskOver(state: RemoteState): boolean {
  return overStates.has(state)
}

/** It waits for a person, and goes on when it is answered. */
export function isTaskAwaitingPerson(state: RemoteState): boolean {
  return openStates.has(state)
}

/** Nothing more comes from it by itself. `answered`: the wait that was just ended, which a peer may show once more. */
export function isTaskOverOrWaiting(task: RemoteTask, answered?: string): boolean {
  return isTaskOver(task.state) || (isTaskAwaitingPerson(task.state) && taskWaitKey(task) !== answered)
}

/** Tells one wait of a task from the next. */
export function taskWaitKey({ state, stateAt, said }: RemoteTask): string {
  return JSON.stringify([state, stateAt ?? '', said?.messageId ?? ''])
}

/** The task after an event. A task that comes whole replaces what was known; an event of another task changes nothing. */
export function applyEventToTask(task: RemoteTask | undefined, event: RemoteEvent): RemoteTask | undefined {
  switch (event.kind) {
    case 'message':
      return task
    case 'task':
      return task === undefined || task.id === event.task.id ? event.task : task
    case 'status': {
      const known = task ?? createSubmittedTask(event)
      if (known.id !== event.taskId || isTaskOver(known.state)) return known
      const { said: _said, stateAt: _at, ...rest } = known
      const { state, stateAt, said } = event
      return { ...rest, state, ...(stateAt === undefined ? {} : { stateAt }), ...(said === undefined ? {} : { said }) }
    }
    case 'artifact': {
      const known = task ?? createSubmittedTask(event)
      if (known.id !== event.taskId || isTaskOver(known.state)) return known
      return { ...known, artifacts: mergeArtifact(known.artifacts, event.artifact, event.isAppended) }
    }
  }
}

function createSubmittedTask({
  taskId,
  contextId,
}: {
  readonly taskId: string
  readonly contextId?: string
}): RemoteTask {
  const place = contextId === undefined ? {} : { contextId }
  return { id: taskId, ...place, state: 'submitted', artifacts: [], history: [] }
}

function mergeArtifact(
  artifacts: readonly RemoteArtifact[],
  artifact: RemoteArtifact,
  isAppended: boolean,
): readonly RemoteArtifact[] {
  const index = artifacts.findIndex(({ id }) => id === artifact.id)
  const before = artifacts[index]
  if (before === undefined) return [...artifacts, artifact]
  const grown = isAppended ? { ...before, parts: [...before.parts, ...artifact.parts] } : artifact
  return artifacts.with(index, grown)
}

/** The words of its results, as far as they have come. */
export function artifactsText({ artifacts }: RemoteTask): string {
  return artifacts.map(({ parts }) => remotePartsText(parts)).join('\n\n')
}

export function remotePartsText(parts: readonly A2aPart[]): string {
  return parts.map(({ text }) => text ?? '').join('')
}
