// Retention: content is erased first, receipts later, so that a redelivery is known long after its text is gone.
import type { Log } from '../contract/index.ts'

export type RetentionPolicy = {
  readonly contentDays: number
  /** What was refused, and what asked for nothing, loses its content sooner: mostly strangers sent it. */
  readonly refusedHours: number
  readonly receiptDays: number
  /** Lines of the audit log: who decided what outlives what it was about. */
  readonly auditDays: number
  readonly batch: number
}

/** `what`: content, transcripts, receipts, calls or turns. */
export type Overdue = { readonly what: string; readonly ms: number }

export interface SweepStore {
  /** Ends sessions without consent to keep them, after this silence, and erases what was said in them. */
  endUnkept(idleMs: number): Promise<number>
  /** Removes what is due, in bounded batches, until it is gone or the time for it is over; returns how many rows went. */
  sweep(policy: RetentionPolicy): Promise<number>
  /** What is longest beyond its time; undefined where nothing is. */
  oldestOverdue(policy: RetentionPolicy): Promise<Overdue | undefined>
  /** Pairings that have run out, and messages that need not wait for one any more; how many messages went on or ended. */
  settlePairings(): Promise<number>
  /** Lanes whose count disagreed with their rows, corrected. */
  correctDrift(limit: number): Promise<number>
}

export const defaultRetention: RetentionPolicy = {
  contentDays: 90,
  refusedHours: 24,
  receiptDays: 120,
  auditDays: 400,
  batch: 500,
}

/** Sweeping comes every minute: what is this far beyond its time piles up. */
const behindAfterMs = 10 * 60_000

export function retentionProblems(policy: RetentionPolicy): readonly string[] {
  const { contentDays, refusedHours, receiptDays, auditDays } = policy
  const early =
    'retention.receiptDays must be at least 30 and at least contentDays, or redeliveries would be answered again'
  return [
    ...(receiptDays < Math.max(30, contentDays) ? [early] : []),
    ...(refusedHours > 0 ? [] : ['retention.refusedHours must be more than 0']),
    ...(auditDays >= 1 ? [] : ['retention.auditDays must be at least 1']),
  ]
}

/** One round. Drift is a fault: it is corrected, and it is said. */
export async function sweepOnce(
  store: SweepStore,
  { idleMs, ...policy }: RetentionPolicy & { readonly idleMs: number },
  log: Log,
): Promise<void> {
  const swept = (await store.endUnkept(idleMs)) + (await store.sweep(policy))
  if (swept > 0) log.info('retention_swept', { rows: swept })
  const overdue = await store.oldestOverdue(policy)
  if (overdue !== undefined && overdue.ms > behindAfterMs)
    log.warn('retention_behind', { reason: overdue.what, ms: Math.round(overdue.ms) })
  const settled = await store.settlePairings()
  if (settled > 0) log.info('held_messages_settled', { rows: settled })
  const drifted = await store.correctDrift(200)
  if (drifted > 0) log.error('lane_drift_corrected', { lanes: drifted })
}
