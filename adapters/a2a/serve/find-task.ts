// Finds a task by its id, as far as the caller may see it: its own, and at the address it was asked for under.
import type { Task, TaskSnapshot } from '../../../src/contract/index.ts'
import type { Fault } from '../wire/faults.ts'
import { type A2aDeps, byOf, type Call, noSuchTask } from './call.ts'

export async function findTask({ tasks }: A2aDeps, call: Call, id: string): Promise<Task | Fault> {
  const task = await tasks.find(id, byOf(call))
  return task === undefined || !isHere(task, call) ? noSuchTask() : task
}

export async function readTaskOf({ tasks }: A2aDeps, call: Call, id: string): Promise<TaskSnapshot | Fault> {
  const snapshot = await tasks.read(id, byOf(call))
  return snapshot === undefined || !isHere(snapshot.task, call) ? noSuchTask() : snapshot
}

/** One agent's address knows nothing of another's tasks; the hub knows all of them. */
export function isHere({ agent }: Task, { named }: Call): boolean {
  return named === undefined || named === agent
}
