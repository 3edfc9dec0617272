// Retrying dead letters: a dead turn is queued again; an inbound event that could not be read is read by today's code.
import type { RawRequest } from '../contract/index.ts'
import type { Resubmission } from '../db/receipts.ts'
import type { GatewayDeps } from '../turns/deps.ts'
import { claimFiles } from '../turns/turn-files.ts'
import { isRejectedRaw } from './rejected-events.ts'
import { newTraceId } from './request-context.ts'
import { storeEvents } from './store-events.ts'

export async function resubmit(deps: GatewayDeps, inboxId: string, by: string, how?: Resubmission): Promise<boolean> {
  if (await deps.receipts.resubmit(inboxId, by, how)) return true
  const rejected = await deps.receipts.findRemains(inboxId)
  if (rejected !== undefined && isRejectedRaw(rejected.raw)) return false
  const at = deps.connections.find((each) => each.key === rejected?.connection)
  const reread = at?.adapter.reread
  if (rejected === undefined || at === undefined || reread === undefined) return false
  // Nothing is kept of an inbound event that named a chain of callers and became no message: what is here named none.
  const verified = await reread(storedRawToRequest(rejected.raw, deps.now()), at.connection, {
    subject: rejected.subject,
  })
  if (verified?.kind !== 'read') return false
  const claimed = await claimFiles(deps, at, verified.events)
  if (claimed.kind === 'refused') return false
  const acceptances = await storeEvents(deps, at, claimed.events, {
    trace: newTraceId(deps),
    startedAt: deps.monotonicMs(),
  })
  if (!acceptances.some((acceptance) => acceptance.kind === 'accepted')) return false
  await deps.receipts.markRedriven(inboxId, by)
  return true
}

/** Unreadable bytes were kept as text; what was read and found empty or invalid, as its JSON. */
export function storedRawToRequest(raw: Readonly<Record<string, unknown>>, now: number): RawRequest {
  const text = typeof raw['text'] === 'string' && Object.keys(raw).length === 1 ? raw['text'] : JSON.stringify(raw)
  return {
    bytes: new TextEncoder().encode(text),
    headers: {},
    receivedAt: new Date(now).toISOString(),
    from: 'remote',
  }
}
