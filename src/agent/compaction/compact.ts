// A shorter view of a transcript: a summary in front of what is recent. The log itself is never touched, and
// whatever goes wrong leaves the view as it was.
import type { Envelope, Fields } from '../../contract/index.ts'
import { textLine } from '../messages/create.ts'
import { archiveOverflow } from './archive-overflow.ts'
import { compactionProvenance, conservation, serializedBytes } from './conservation.ts'
import type { CompactionPolicy } from './policy.ts'
import { type Compaction, findCutBoundary, skippedCompaction } from './view.ts'

export type Summarizer = (
  messages: readonly Envelope[],
  facts: Fields,
) => Promise<string | { readonly summary: string; readonly archived_items?: readonly unknown[] }>

export async function compact(
  messages: readonly Envelope[],
  policy: CompactionPolicy,
  summarize: Summarizer,
): Promise<Compaction> {
  const overflow = policy.overflow_archive_enabled && policy.overflow_threshold_bytes > 0
  if (overflow && serializedBytes(messages) > policy.overflow_threshold_bytes) return archiveOverflow(messages, policy)
  if (!policy.enabled || messages.length <= policy.max_messages) return skippedCompaction(messages, 'below_threshold')
  const boundary = findCutBoundary(messages, policy)
  if (boundary <= 0) return skippedCompaction(messages, 'no_boundary')
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
  const compactionFailed = (reason: string): Compaction => ({
    messages,
    metadata: { compaction: { status: 'failed', reason, ...counts } },
    events: [started, { type: 'compaction_failed', metadata: { ...counts, reason } }],
  })
  let summary: Awaited<ReturnType<Summarizer>>
  try {
    summary = await summarize(older, { policy, ...facts })
  } catch {
    return compactionFailed('summarizer_failed')
  }
  const text = typeof summary === 'string' ? summary : summary.summary
  const archived = typeof summary === 'string' ? older : (summary.archived_items ?? older)
  if (typeof text !== 'string' || text.trim() === '') return compactionFailed('summary_empty')
  const note = summaryLine(policy, text, older.length, recent.length)
  const kept = conservation(policy, messages, [note, ...recent], archived)
  if (kept['failed_closed'] === true) return compactionFailed('conservation_failed')
  const metadata = {
    ...counts,
    provenance: compactionProvenance(messages, [note], recent, archived),
    conservation: kept,
  }
  return {
    messages: [note, ...recent],
    metadata: { compaction: { status: 'compacted', ...metadata } },
    events: [started, { type: 'compaction_completed', metadata }],
    archive_items: archived,
  }
}

function summaryLine(policy: CompactionPolicy, summary: string, compacted: number, retained: number): Envelope {
  const { summary_role, summary_prefix, summary_model, summary_provider } = policy
  const counts = { compacted_message_count: compacted, retained_message_count: retained }
  return textLine(summary_role, `${summary_prefix}\n\n${summary.trim()}`, {
    agents_api_compaction: { ...counts, summary_provider, summary_model },
  })
}
