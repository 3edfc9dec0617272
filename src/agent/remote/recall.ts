// Cancels a remote task whose run was stopped while no process was there to tell the peer: found by what the journal kept.
import type { Elsewhere } from '../elsewhere.ts'
import { isFields } from '../fields.ts'
import { lookUp, type Plan } from './ask.ts'
import { createRemoteClient } from './client.ts'
import { createEgress } from './egress.ts'
import type { RemotePeer } from './options.ts'
import type { RemoteInterface } from './wire.ts'

/** The results of the first two steps of a remote call, as the journal has them; the second is undefined where it has no end. */
export type Left = { readonly opened: unknown; readonly asked: unknown }

export type RecallMeans = { readonly elsewhere: Elsewhere; readonly signal: AbortSignal }

/** Fails where the peer cannot be told. One that never heard of it has nothing to be told. */
export type Recall = (left: Left, means: RecallMeans) => Promise<void>

const maxBytes = 4 * 1024 * 1024

export async function recallTask(peer: RemotePeer, { opened, asked }: Left, means: RecallMeans): Promise<void> {
  const { elsewhere, signal } = means
  const plan = planIn(opened)
  if (plan === undefined) return
  const next = await elsewhere.next()
  const egress = createEgress(peer.egress, elsewhere)
  const headers = next.ok ? next.headers : {}
  const clientOf = (at: RemoteInterface) =>
    createRemoteClient({ egress, limits: peer.limits, headers, signal, allowance: { bytes: maxBytes, events: 1 } }, at)
  const known = taskIn(asked)
  if (known !== undefined) return void (await clientOf(known.at).cancel(known.taskId))
  // It said all it had to say, or it was not asked: there is no task.
  if (asked !== undefined) return
  const task = await lookUp({ plan, clientOf, mayResend: true })
  if (task !== undefined) await clientOf(plan.at).cancel(task.id)
}

/** The journal holds what the steps returned. */
function planIn(opened: unknown): Plan | undefined {
  return isFields(opened) && opened['kind'] === 'plan' ? (opened['plan'] as Plan) : undefined
}

function taskIn(asked: unknown): { readonly at: RemoteInterface; readonly taskId: string } | undefined {
  if (!isFields(asked) || asked['kind'] !== 'asked') return undefined
  const { at, said } = asked
  const task = isFields(said) && said['kind'] === 'task' ? said['task'] : undefined
  return isFields(task) ? { at: at as RemoteInterface, taskId: String(task['id']) } : undefined
}
