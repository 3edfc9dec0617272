// A compacted view, and where a transcript may be cut.
import type { Envelope, Fields } from '../../contract/index.ts'
import type { CompactionPolicy } from './policy.ts'

export type Compaction = {
  readonly messages: readonly Envelope[]
  readonly metadata: { readonly compaction: Fields }
  readonly events: readonly { readonly type: string; readonly metadata: Fields }[]
  readonly archive_items?: readonly unknown[]
}

export function skippedCompaction(messages: readonly Envelope[], reason: string): Compaction {
  return { messages, metadata: { compaction: { status: 'skipped', reason } }, events: [] }
}

/** Never between a call and its result: the boundary moves back until both are on one side. */
export function findCutBoundary(messages: readonly Envelope[], policy: CompactionPolicy, retained?: number): number {
  let boundary = messages.length - (retained ?? policy.recent_messages)
  if (!policy.preserve_tool_boundaries) return boundary
  while (boundary > 0 && messages[boundary]?.type === 'tool_result') boundary -= 1
  while (boundary > 0 && messages[boundary - 1]?.type === 'tool_call') boundary -= 1
  return boundary
}
