// A transcript too large to summarize: its older part is set aside as it is, with a note in its place.
import type { Envelope } from '../../contract/index.ts'
import { sha256Hex } from '../../lib/index.ts'
import { textLine } from '../messages/create.ts'
import { compactionProvenance, serializedBytes } from './conservation.ts'
import type { CompactionPolicy } from './policy.ts'
import { type Compaction, findCutBoundary, skippedCompaction } from './view.ts'

export async function archiveOverflow(messages: readonly Envelope[], policy: CompactionPolicy): Promise<Compaction> {
  const boundary = findCutBoundary(messages, policy, retainedCount(messages, policy))
  if (boundary <= 0) return skippedCompaction(messages, 'overflow_input_unsplittable')
  const older = messages.slice(0, boundary)
  const recent = messages.slice(boundary)
  const archiveId = `agents-api-overflow-${(await sha256Hex(JSON.stringify(older))).slice(0, 16)}`
  const facts = {
    archive_id: archiveId,
    pointer: policy.overflow_archive_pointer,
    archived_message_count: older.length,
    retained_message_count: recent.length,
  }
  const note = textLine(policy.overflow_stub_role, policy.overflow_stub_prefix, {
    agents_api_compaction_archive: facts,
  })
  const metadata = { ...facts, provenance: compactionProvenance(messages, [note], recent, older) }
  return {
    messages: [note, ...recent],
    metadata: { compaction: { status: 'archived', ...metadata } },
    events: [{ type: 'compaction_overflow_archived', metadata }],
    archive_items: older,
  }
}

function retainedCount(messages: readonly Envelope[], policy: CompactionPolicy): number {
  const most = policy.overflow_retained_messages > 0 ? policy.overflow_retained_messages : policy.recent_messages
  if (policy.overflow_retained_bytes <= 0) return Math.min(most, messages.length)
  let count = 0
  while (count < Math.min(most, messages.length)) {
    if (serializedBytes(messages.slice(messages.length - count - 1)) > policy.overflow_retained_bytes && count > 0)
      break
    count += 1
  }
  return count
}
