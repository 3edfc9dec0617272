// When and how a transcript is shortened for the model. Off unless switched on.
import type { Fields } from '../../contract/index.ts'

export type CompactionPolicy = {
  readonly enabled: boolean
  readonly max_messages: number
  readonly recent_messages: number
  readonly summary_role: string
  readonly summary_prefix: string
  readonly summary_model: string
  readonly summary_provider: string
  readonly preserve_tool_boundaries: boolean
  readonly conservation_enabled: boolean
  readonly minimum_conserved_byte_ratio: number
  readonly fail_on_conservation_failure: boolean
  readonly overflow_archive_enabled: boolean
  readonly overflow_threshold_bytes: number
  /** 0: as many as `recent_messages`. */
  readonly overflow_retained_messages: number
  readonly overflow_retained_bytes: number
  readonly overflow_archive_pointer: Fields
  readonly overflow_stub_role: string
  readonly overflow_stub_prefix: string
}

const defaults: CompactionPolicy = {
  enabled: false,
  max_messages: 40,
  recent_messages: 12,
  summary_role: 'system',
  summary_prefix: 'Summary of the conversation so far:',
  summary_model: '',
  summary_provider: '',
  preserve_tool_boundaries: true,
  conservation_enabled: false,
  minimum_conserved_byte_ratio: 1,
  fail_on_conservation_failure: true,
  overflow_archive_enabled: false,
  overflow_threshold_bytes: 0,
  overflow_retained_messages: 0,
  overflow_retained_bytes: 0,
  overflow_archive_pointer: {},
  overflow_stub_role: 'system',
  overflow_stub_prefix: 'Earlier messages were archived because the conversation grew too large.',
}

/** Fewer messages stay than may be there, or there would be nothing to shorten. */
export function compactionPolicy(given: Partial<CompactionPolicy>): CompactionPolicy {
  const policy = { ...defaults, ...given }
  const max = Math.max(2, policy.max_messages)
  return { ...policy, max_messages: max, recent_messages: Math.min(Math.max(1, policy.recent_messages), max - 1) }
}
