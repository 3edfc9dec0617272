// Names of task states: ours, those of 1.0, and those of 0.3 in its two forms.
import type { TaskState } from '../../../src/contract/index.ts'

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

export function stateName(state: TaskState): string {
  return stateNames[state].name
}

/** Undefined: there is no such state. */
export function parseState(name: string): TaskState | undefined {
  return all.find(([, names]) => names.name === name)?.[0]
}

export function legacyState(name: string): string {
  return all.find(([, names]) => names.name === name)?.[1].legacy ?? 'unknown'
}

export function legacyEnumState(name: string): string {
  return all.find(([, names]) => names.name === name)?.[1].legacyEnum ?? name
}
