// The slots of this process: how many are taken, by which agent on which connection, and since when. In readiness and metrics.
import type { MetricFamily } from './exposition.ts'

export type SlotHolder = {
  readonly agent: string
  readonly connection: string
  readonly used: number
  /** How long the turn that has held one longest has been running. */
  readonly oldestMs: number
  /** How long it has held all it may, while others may have more; null: it may have more. */
  readonly fullMs: number | null
}

export type SlotUse = {
  readonly slots: number
  readonly used: number
  /** How long no slot has been free, not even for a moment; null: one is free. */
  readonly fullMs: number | null
  /** The one that holds most comes first. */
  readonly holders: readonly SlotHolder[]
}

/** A slot that becomes free between two turns is work going on; so long without one is a standstill. */
const standstillMs = 3_000

export function isStandstill({ fullMs }: Pick<SlotUse, 'fullMs'>): boolean {
  return fullMs !== null && fullMs > standstillMs
}

export function slotMetrics({ slots, used, fullMs, holders }: SlotUse): readonly MetricFamily[] {
  const gaugeFamily = (name: string, help: string, samples: MetricFamily['samples']): MetricFamily => ({
    name,
    help,
    type: 'gauge',
    samples,
  })
  const byHolder = (value: (holder: SlotHolder) => number): MetricFamily['samples'] =>
    holders.map((holder) => ({ labels: { connection: holder.connection, agent: holder.agent }, value: value(holder) }))
  return [
    gaugeFamily('parley_slots', 'Turns that may run at once in this process.', [{ labels: {}, value: slots }]),
    gaugeFamily(
      'parley_slots_used',
      'Turns that run now, by agent and connection.',
      byHolder((holder) => holder.used),
    ),
    gaugeFamily('parley_slots_free', 'Slots that no turn runs in.', [{ labels: {}, value: Math.max(0, slots - used) }]),
    gaugeFamily(
      'parley_slots_oldest_seconds',
      'How long the turn that has run longest has been running.',
      byHolder((holder) => Math.round(holder.oldestMs) / 1000),
    ),
    gaugeFamily('parley_slots_full_seconds', 'How long no slot has been free; 0: one is.', [
      { labels: {}, value: Math.round(fullMs ?? 0) / 1000 },
    ]),
  ]
}
