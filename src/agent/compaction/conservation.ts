// What a compaction kept, counted: so that a summary that drops too much can be refused.
import type { Envelope, Fields } from '../../contract/index.ts'
import type { CompactionPolicy } from './policy.ts'

const encoder = new TextEncoder()

export function serializedBytes(items: readonly unknown[]): number {
  return items.reduce<number>((sum, item) => sum + encoder.encode(JSON.stringify(item) ?? '').length, 0)
}

export function compactionProvenance(
  original: readonly Envelope[],
  compacted: readonly Envelope[],
  retained: readonly Envelope[],
  archived: readonly unknown[],
): Fields {
  return {
    original: countItems(original),
    compacted: countItems(compacted),
    retained: countItems(retained),
    archived: countItems(archived),
  }
}

export function conservation(
  policy: CompactionPolicy,
  original: readonly Envelope[],
  shortened: readonly Envelope[],
  archived: readonly unknown[],
): Fields {
  const before = serializedBytes(original)
  const required = Math.ceil(before * policy.minimum_conserved_byte_ratio)
  const conserved = serializedBytes(shortened) + serializedBytes(archived)
  const isEnough = !policy.conservation_enabled || conserved >= required
  return {
    enabled: policy.conservation_enabled,
    minimum_conserved_byte_ratio: policy.minimum_conserved_byte_ratio,
    required_byte_count: required,
    conserved_byte_count: conserved,
    conserved_byte_ratio: before === 0 ? 1 : conserved / before,
    passed: isEnough,
    failed_closed: !isEnough && policy.fail_on_conservation_failure,
  }
}

function countItems(items: readonly unknown[]): Fields {
  return { item_count: items.length, byte_count: serializedBytes(items) }
}
