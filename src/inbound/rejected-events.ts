// Rejected and unparsable events: what is kept of an event that became no message, so that none vanishes.
import type { AcceptResult, InboundOutcome, JsonObject, RawRequest, ReceiveResult } from '../contract/index.ts'
import type { GatewayConnection, GatewayDeps } from '../turns/deps.ts'
import { acceptDrafts, createRejectedEventDraft, type KeptEventFacts } from './accept.ts'
import { acceptContext, createAcceptReporter, type RequestTrace } from './request-context.ts'
import { maxStrangerBytes } from './stored-copy.ts'

export type Unreadable = Extract<ReceiveResult, { kind: 'unreadable' }>
type RejectedEvent = Extract<ReceiveResult, { kind: 'rejected_event' }>

/** Nothing authenticated vanishes: what will never be taken can be asked about, and is never replayed. */
export async function storeRejectedEvent(
  deps: GatewayDeps,
  at: GatewayConnection,
  request: RawRequest,
  { verified, entry }: { readonly verified: RejectedEvent; readonly entry: RequestTrace },
): Promise<AcceptResult> {
  const text = keptText(request)
  const { reason, subject = null, deliveryId = 'rejected_event' } = verified
  const content = JSON.stringify([subject, reason, text])
  const kept = { raw: rejectedRaw(text), content, subject }
  const rejected = { state: 'ignored', reason, deliveryId, key: 'rejected_event', ...kept } as const
  return storeRejectedDraft(deps, at, { rejected, outcome: 'ignored', entry })
}

async function storeRejectedDraft(
  deps: GatewayDeps,
  at: GatewayConnection,
  {
    rejected,
    outcome,
    entry,
  }: { readonly rejected: KeptEventFacts; readonly outcome: InboundOutcome; readonly entry: RequestTrace },
): Promise<AcceptResult> {
  const context = acceptContext(at, entry)
  const [acceptance] = await acceptDrafts(deps, [createRejectedEventDraft(deps, rejected, context)])
  return createAcceptReporter(deps, context, entry)(
    outcome,
    rejected.reason,
    acceptance ?? { kind: 'duplicate', inboxId: '' },
  )
}

/** What is kept of bytes that became no message: enough to see what they were. */
function keptText({ bytes }: RawRequest): string {
  return new TextDecoder().decode(bytes.subarray(0, maxStrangerBytes))
}

/** Nothing authenticated vanishes: what cannot be read is kept as it came, for a release that can. */
export async function keepUnreadable(
  deps: GatewayDeps,
  at: GatewayConnection,
  request: RawRequest,
  { verified, entry }: { readonly verified: Unreadable; readonly entry: RequestTrace },
): Promise<AcceptResult> {
  const text = keptText(request)
  const { reason, subject = null, deliveryId = 'unreadable', isFinal = false, once = [] } = verified
  // Told apart by what they say and who said it: a name its sender chose must not hide another's.
  const content = subject === null ? text : JSON.stringify([subject, reason, text])
  const raw = isFinal ? null : { text }
  const rejected = { state: 'dead', reason, deliveryId, key: 'unreadable', raw, content, subject, once } as const
  return storeRejectedDraft(deps, at, { rejected, outcome: 'unreadable', entry })
}

// A request that was rejected for good has no proof behind it: it is there to be looked at, and is never replayed.

/** Stands in rows: another word would let old ones be replayed. */
const field = 'rejected_event'

function rejectedRaw(text: string): JsonObject {
  return { [field]: text }
}

export function isRejectedRaw(raw: JsonObject): boolean {
  return field in raw
}
