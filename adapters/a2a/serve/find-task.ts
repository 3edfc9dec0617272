// Finds a task by its id, as far as the caller may see it: its own, and at the address it was asked for under.
import type { Task, TaskSnapshot } from '../../../src/contract/index.ts'
import type { Fault } from '../wire/faults.ts'
import { type A2aDeps, type A2aRequest, taskCaller, taskNotFound } from './call.ts'

export async function findTask({ tasks }: A2aDeps, call: A2aRequest, id: string): Promise<Task | Fault> {
  const task = await tasks.find(id, taskCaller(call))
  return task === undefined || !isTaskOfAddress(task, call) ? taskNotFound() : task
}

export async function readOwnTask({ tasks }: A2aDeps, call: A2aRequest, id: string): Promise<TaskSnapshot | Fault> {
  const snapshot = await tasks.read(id, taskCaller(call))
  return snapshot === undefined || !isTaskOfAddress(snapshot.task, call) ? taskNotFound() : snapshot
}

/** One agent's address knows nothing of another's tasks; the hub knows all of them. */
export function isTaskOfAddress({ agent }: Task, { named }: A2aRequest): boolean {
  return named === undefined || named === agent
}
