// Hop 8 in the log and on the meter: what one try came to, told once it is stored.
import type { DeliveryOutcome, Log, LogFields, Meter, SendOutcome } from '../contract/index.ts'
import type { HeldSendLane, OpenCall, Settlement } from '../db/outbox.ts'

export type SettledTry = {
  readonly settlement: Settlement
  /** Absent where nothing was sent. */
  readonly outcome: DeliveryOutcome | undefined
  readonly tookMs: number | undefined
}

export function tellSettled(
  { log, meter }: { readonly log: Log; readonly meter: Meter },
  facts: LogFields & { readonly connection: string },
  { settlement, outcome, tookMs }: SettledTry,
): void {
  const { isFinal, state, reason, retryInMs } = settlement
  const result = sendOutcome(settlement, outcome)
  meter.sent(facts.connection, result, reason ?? '', tookMs)
  const told = { ...facts, outcome: result, reason, ...(tookMs === undefined ? {} : { ms: Math.round(tookMs) }) }
  if (!isFinal) log.info('delivery_delayed', { ...told, delayMs: Math.round(retryInMs) })
  else if (state === 'delivered' || state === 'cancelled') log.info('delivery_ended', told)
  else log.warn('delivery_failed', { ...told, state })
}

export function sendFacts(
  { connection }: HeldSendLane,
  { id, turnId, traceId, attempt }: OpenCall,
): LogFields & { readonly connection: string } {
  return { connection, trace: traceId, turn: turnId, outbox: id, attempt: attempt + 1 }
}

/** A vendor that names a time was asked too much; an open call without a known outcome is unknown, whatever comes next. */
function sendOutcome({ isFinal, state, pause }: Settlement, outcome: DeliveryOutcome | undefined): SendOutcome {
  if (isFinal) return state
  if (pause !== null) return 'rate_limited'
  return outcome?.kind === 'unknown' ? 'unknown' : state
}
