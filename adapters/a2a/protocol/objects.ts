// The protocol's objects in version 1.0, as plain JSON with its own field names, and the names of task states in both versions.

import type { CallerResult, TaskState } from '../../../src/contract/index.ts'
import type { Json, JsonObject } from '../../../src/lib/index.ts'
/** Exactly one of `text`, `raw`, `url` and `data` is there; the rest says something about it. */
export type A2aPart = {
  readonly text?: string
  /** Base64. */
  readonly raw?: string
  readonly url?: string
  readonly data?: Json
  readonly metadata?: JsonObject
  readonly filename?: string
  readonly mediaType?: string
}

/** Either alphabet, padded or not: a reader of ProtoJSON takes them all. Undefined: it is no base64. */
export function standardBase64(text: string): string | undefined {
  const digits = text
    .replace(/={1,2}$/, '')
    .replaceAll('-', '+')
    .replaceAll('_', '/')
  if (!/^[A-Za-z0-9+/]*$/.test(digits) || digits.length % 4 === 1) return undefined
  return digits.padEnd(Math.ceil(digits.length / 4) * 4, '=')
}

type Role = 'ROLE_USER' | 'ROLE_AGENT'

export type A2aMessage = {
  readonly messageId: string
  readonly contextId?: string
  readonly taskId?: string
  readonly role: Role
  readonly parts: readonly A2aPart[]
  readonly metadata?: JsonObject
  readonly extensions?: readonly string[]
  readonly referenceTaskIds?: readonly string[]
}

export type A2aStatus = { readonly state: string; readonly message?: A2aMessage; readonly timestamp: string }

export type A2aArtifact = {
  readonly artifactId: string
  readonly name?: string
  readonly parts: readonly A2aPart[]
  readonly metadata?: JsonObject
}

export type A2aTask = {
  readonly id: string
  readonly contextId: string
  readonly status: A2aStatus
  readonly artifacts?: readonly A2aArtifact[]
  readonly history?: readonly A2aMessage[]
  readonly metadata?: JsonObject
}

type StatusUpdate = {
  readonly taskId: string
  readonly contextId: string
  readonly status: A2aStatus
  readonly metadata?: JsonObject
}

type ArtifactUpdate = {
  readonly taskId: string
  readonly contextId: string
  readonly artifact: A2aArtifact
  readonly append: boolean
  readonly lastChunk: boolean
}

/** What an answer to a send, or one frame of a stream, holds: one of these. */
export type StreamResponse =
  | { readonly task: A2aTask }
  | { readonly message: A2aMessage }
  | { readonly statusUpdate: StatusUpdate }
  | { readonly artifactUpdate: ArtifactUpdate }

export type A2aPushConfig = {
  readonly tenant?: string
  readonly id?: string
  readonly taskId: string
  readonly url: string
  readonly token?: string
  readonly authentication?: { readonly scheme: string; readonly credentials?: string }
}

/** Tells a receiver that a task has reached a state; written by the database when it does. */
export type PushCall = {
  readonly push: {
    readonly taskId: string
    readonly configId: string
    readonly state: TaskState
    readonly at: string
  }
}

/** The one reply this channel sends, as the last event of its run. */
export type A2aCall = { readonly event: { readonly type: 'done'; readonly response: JsonObject } }

// Names of task states: ours, those of 1.0, and those of 0.3 in its two forms.

type StateNames = {
  readonly name: string
  readonly legacy: string
  /** In the proto of 0.3, which its REST form writes. */
  readonly legacyEnum?: string
}

const stateNames: Readonly<Record<TaskState, StateNames>> = {
  submitted: { name: 'TASK_STATE_SUBMITTED', legacy: 'submitted' },
  working: { name: 'TASK_STATE_WORKING', legacy: 'working' },
  input_required: { name: 'TASK_STATE_INPUT_REQUIRED', legacy: 'input-required' },
  auth_required: { name: 'TASK_STATE_AUTH_REQUIRED', legacy: 'auth-required' },
  completed: { name: 'TASK_STATE_COMPLETED', legacy: 'completed' },
  failed: { name: 'TASK_STATE_FAILED', legacy: 'failed' },
  cancelled: { name: 'TASK_STATE_CANCELED', legacy: 'canceled', legacyEnum: 'TASK_STATE_CANCELLED' },
  rejected: { name: 'TASK_STATE_REJECTED', legacy: 'rejected' },
}

const all = Object.entries(stateNames) as readonly (readonly [TaskState, StateNames])[]

export function toWireStateName(state: TaskState): string {
  return stateNames[state].name
}

/** Undefined: there is no such state. */
export function parseState(name: string): TaskState | undefined {
  return all.find(([, names]) => names.name === name)?.[0]
}

export function toLegacyState(name: string): string {
  return all.find(([, names]) => names.name === name)?.[1].legacy ?? 'unknown'
}

export function toLegacyEnumState(name: string): string {
  return all.find(([, names]) => names.name === name)?.[1].legacyEnum ?? name
}

// A verified caller, and what its headers say about agents before it.

type IdentifiedCaller = Extract<CallerResult, { kind: 'identified' }>
export type AgentChain = NonNullable<IdentifiedCaller['agentChain']>

export type A2aCaller = {
  readonly kind: 'token' | 'local' | 'anonymous'
  readonly bearer: IdentifiedCaller['bearer']
  /** The owner of the tasks it sees. All callers without a credential share one: an id that cannot be guessed is all they have. */
  readonly subject: string
  readonly chain:
    | ({ readonly kind: 'read' } & Pick<IdentifiedCaller, 'caller' | 'agentChain'>)
    | { readonly kind: 'unreadable'; readonly remedy: string }
}

/** A request from the gateway's own webhook route, whose sender is settled and whose body is not parsed yet. */
export type A2aPayload = { readonly bytes: Uint8Array; readonly caller: A2aCaller }
