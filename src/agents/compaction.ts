// Compaction: a shorter view of a transcript, with a summary in front of what is recent. The log itself is never touched, and
// whatever goes wrong leaves the view as it was.
import type { Envelope } from '../contract/gateway-events.ts'
import { sha256Hex } from '../lib/index.ts'
import type { Fields } from '../lib/json-value.ts'
import { textEnvelope } from './messages.ts'

export type Summarizer = (
  messages: readonly Envelope[],
  facts: Fields,
) => Promise<string | { readonly summary: string; readonly archived_items?: readonly unknown[] }>

export async function compactTranscript(
  messages: readonly Envelope[],
  policy: CompactionPolicy,
  summarize: Summarizer,
): Promise<Compaction> {
  const overflow = policy.overflow_archive_enabled && policy.overflow_threshold_bytes > 0
  if (overflow && countSerializedBytes(messages) > policy.overflow_threshold_bytes)
    return archiveOverflowMessages(messages, policy)
  if (!policy.enabled || messages.length <= policy.max_messages)
    return createSkippedCompaction(messages, 'below_threshold')
  const boundary = findCutBoundary(messages, policy)
  if (boundary <= 0) return createSkippedCompaction(messages, 'no_boundary')
  return summarizeMessages(messages, policy, summarize, boundary)
}

async function summarizeMessages(
  messages: readonly Envelope[],
  policy: CompactionPolicy,
  summarize: Summarizer,
  boundary: number,
): Promise<Compaction> {
  const older = messages.slice(0, boundary)
  const recent = messages.slice(boundary)
  const counts = { total_messages: messages.length, compact_count: older.length, retained_count: recent.length }
  const facts = { ...counts, boundary: { compact_until: boundary, retain_from: boundary } }
  const started = { type: 'compaction_started', metadata: facts }
  const createFailedCompaction = (reason: string): Compaction => ({
    messages,
    metadata: { compaction: { status: 'failed', reason, ...counts } },
    events: [started, { type: 'compaction_failed', metadata: { ...counts, reason } }],
  })
  let summary: Awaited<ReturnType<Summarizer>>
  try {
    summary = await summarize(older, { policy, ...facts })
  } catch {
    return createFailedCompaction('summarizer_failed')
  }
  const text = typeof summary === 'string' ? summary : summary.summary
  const archived = typeof summary === 'string' ? older : (summary.archived_items ?? older)
  if (typeof text !== 'string' || text.trim() === '') return createFailedCompaction('summary_empty')
  const note = summaryEnvelope(policy, text, older.length, recent.length)
  const kept = measureConservedBytes(policy, messages, [note, ...recent], archived)
  if (kept['failed_closed'] === true) return createFailedCompaction('conservation_failed')
  const metadata = {
    ...counts,
    provenance: compactionSizes(messages, [note], recent, archived),
    conservation: kept,
  }
  return {
    messages: [note, ...recent],
    metadata: { compaction: { status: 'compacted', ...metadata } },
    events: [started, { type: 'compaction_completed', metadata }],
    archive_items: archived,
  }
}

function summaryEnvelope(policy: CompactionPolicy, summary: string, compacted: number, retained: number): Envelope {
  const { summary_role, summary_prefix, summary_model, summary_provider } = policy
  const counts = { compacted_message_count: compacted, retained_message_count: retained }
  return textEnvelope(summary_role, `${summary_prefix}\n\n${summary.trim()}`, {
    agents_api_compaction: { ...counts, summary_provider, summary_model },
  })
}

// The older part of a transcript that is too large to summarize is set aside as it is, with a note in its place.

async function archiveOverflowMessages(messages: readonly Envelope[], policy: CompactionPolicy): Promise<Compaction> {
  const boundary = findCutBoundary(messages, policy, countRetainedMessages(messages, policy))
  if (boundary <= 0) return createSkippedCompaction(messages, 'overflow_input_unsplittable')
  const older = messages.slice(0, boundary)
  const recent = messages.slice(boundary)
  const archiveId = `agents-api-overflow-${(await sha256Hex(JSON.stringify(older))).slice(0, 16)}`
  const facts = {
    archive_id: archiveId,
    pointer: policy.overflow_archive_pointer,
    archived_message_count: older.length,
    retained_message_count: recent.length,
  }
  const note = textEnvelope(policy.overflow_stub_role, policy.overflow_stub_prefix, {
    agents_api_compaction_archive: facts,
  })
  const metadata = { ...facts, provenance: compactionSizes(messages, [note], recent, older) }
  return {
    messages: [note, ...recent],
    metadata: { compaction: { status: 'archived', ...metadata } },
    events: [{ type: 'compaction_overflow_archived', metadata }],
    archive_items: older,
  }
}

function countRetainedMessages(messages: readonly Envelope[], policy: CompactionPolicy): number {
  const most = policy.overflow_retained_messages > 0 ? policy.overflow_retained_messages : policy.recent_messages
  if (policy.overflow_retained_bytes <= 0) return Math.min(most, messages.length)
  let count = 0
  while (count < Math.min(most, messages.length)) {
    if (countSerializedBytes(messages.slice(messages.length - count - 1)) > policy.overflow_retained_bytes && count > 0)
      break
    count += 1
  }
  return count
}

// What a compaction kept is counted, so that a summary that drops too much can be refused.

const encoder = new TextEncoder()

function countSerializedBytes(items: readonly unknown[]): number {
  return items.reduce<number>((sum, item) => sum + encoder.encode(JSON.stringify(item) ?? '').length, 0)
}

function compactionSizes(
  original: readonly Envelope[],
  compacted: readonly Envelope[],
  retained: readonly Envelope[],
  archived: readonly unknown[],
): Fields {
  return {
    original: countItemsAndBytes(original),
    compacted: countItemsAndBytes(compacted),
    retained: countItemsAndBytes(retained),
    archived: countItemsAndBytes(archived),
  }
}

function measureConservedBytes(
  policy: CompactionPolicy,
  original: readonly Envelope[],
  shortened: readonly Envelope[],
  archived: readonly unknown[],
): Fields {
  const before = countSerializedBytes(original)
  const required = Math.ceil(before * policy.minimum_conserved_byte_ratio)
  const conserved = countSerializedBytes(shortened) + countSerializedBytes(archived)
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

function countItemsAndBytes(items: readonly unknown[]): Fields {
  return { item_count: items.length, byte_count: countSerializedBytes(items) }
}

// Off unless switched on.

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
export function fillCompactionPolicyDefaults(given: Partial<CompactionPolicy>): CompactionPolicy {
  const policy = { ...defaults, ...given }
  const max = Math.max(2, policy.max_messages)
  return { ...policy, max_messages: max, recent_messages: Math.min(Math.max(1, policy.recent_messages), max - 1) }
}

type Compaction = {
  readonly messages: readonly Envelope[]
  readonly metadata: { readonly compaction: Fields }
  readonly events: readonly { readonly type: string; readonly metadata: Fields }[]
  readonly archive_items?: readonly unknown[]
}

function createSkippedCompaction(messages: readonly Envelope[], reason: string): Compaction {
  return { messages, metadata: { compaction: { status: 'skipped', reason } }, events: [] }
}

/** Never between a call and its result: the boundary moves back until both are on one side. */
function findCutBoundary(messages: readonly Envelope[], policy: CompactionPolicy, retained?: number): number {
  let boundary = messages.length - (retained ?? policy.recent_messages)
  if (!policy.preserve_tool_boundaries) return boundary
  while (boundary > 0 && messages[boundary]?.type === 'tool_result') boundary -= 1
  while (boundary > 0 && messages[boundary - 1]?.type === 'tool_call') boundary -= 1
  return boundary
}
