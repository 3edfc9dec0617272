// The notice in place of the parts of a reply that can no longer follow.
import { type Adapter, type IdSource, type NormalizedResponse, textPart } from '../contract/index.ts'
import type { HeldSendLane, OpenCall, Settlement } from '../db/outbox.ts'
import { renderCalls } from './enqueue.ts'

/** A reply that broke off in the middle says so, once, in place of the parts that can no longer follow. */
export async function withNotice(
  deps: { readonly newId: IdSource },
  adapter: Adapter,
  lane: HeldSendLane,
  call: OpenCall,
  settlement: Settlement,
): Promise<Settlement> {
  const isBroken = settlement.cancelLater && call.hasLaterParts && call.purpose === 'reply' && call.replyTo !== null
  if (!isBroken || call.replyTo === null) return settlement
  const message = 'The rest of my answer could not be delivered. Please ask me for it again.'
  const reply: NormalizedResponse = {
    thread_id: lane.orderKey,
    in_reply_to: call.id,
    agent: '',
    status: 'failed',
    parts: [textPart(message)],
    error: { code: 'delivery_failed', message, retryable: false },
  }
  const context = { adapter, newId: deps.newId, origin: call.id, orderKey: lane.orderKey, to: call.replyTo }
  // A notice that cannot be made must not keep the call it is about from being settled.
  const calls = await renderCalls(context, [{ reply, purpose: 'notice' }]).catch(() => [])
  // Others may have got the whole of it.
  return { ...settlement, notice: calls.filter(({ orderKey }) => orderKey === lane.orderKey).slice(0, 1) }
}
