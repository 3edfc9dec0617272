// Cancels a remote task whose run was stopped while no process was there to tell the peer: found by what the journal kept.
import type { RemoteAccess } from '../elsewhere.ts'
import { isPlainObject } from '../fields.ts'
import { findSentTask, type Plan } from './ask.ts'
import { createRemoteClient } from './client.ts'
import { createEgress } from './egress.ts'
import type { RemotePeer } from './options.ts'
import type { RemoteInterface } from './wire.ts'

/** The results of the first two steps of a remote call, as the journal has them; the second is undefined where it has no end. */
export type JournaledCall = { readonly opened: unknown; readonly asked: unknown }

export type CancelDeps = { readonly elsewhere: RemoteAccess; readonly signal: AbortSignal }

/** Fails where the peer cannot be told. One that never heard of it has nothing to be told. */
export type CancelRemoteTask = (left: JournaledCall, means: CancelDeps) => Promise<void>

const maxBytes = 4 * 1024 * 1024

export async function cancelRemoteTask(
  peer: RemotePeer,
  { opened, asked }: JournaledCall,
  means: CancelDeps,
): Promise<void> {
  const { elsewhere, signal } = means
  const plan = journaledPlan(opened)
  if (plan === undefined) return
  const next = await elsewhere.next()
  const egress = createEgress(peer.egress, elsewhere)
  const headers = next.ok ? next.headers : {}
  const cancelClient = (at: RemoteInterface) =>
    createRemoteClient({ egress, limits: peer.limits, headers, signal, allowance: { bytes: maxBytes, events: 1 } }, at)
  const known = journaledTask(asked)
  if (known !== undefined) return void (await cancelClient(known.at).cancel(known.taskId))
  // It said all it had to say, or it was not asked: there is no task.
  if (asked !== undefined) return
  const task = await findSentTask({ plan, clientOf: cancelClient, mayResend: true })
  if (task !== undefined) await cancelClient(plan.at).cancel(task.id)
}

/** The journal holds what the steps returned. */
function journaledPlan(opened: unknown): Plan | undefined {
  return isPlainObject(opened) && opened['kind'] === 'plan' ? (opened['plan'] as Plan) : undefined
}

function journaledTask(asked: unknown): { readonly at: RemoteInterface; readonly taskId: string } | undefined {
  if (!isPlainObject(asked) || asked['kind'] !== 'asked') return undefined
  const { at, said } = asked
  const task = isPlainObject(said) && said['kind'] === 'task' ? said['task'] : undefined
  return isPlainObject(task) ? { at: at as RemoteInterface, taskId: String(task['id']) } : undefined
}
