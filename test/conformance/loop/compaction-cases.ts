// Compaction: the compacted view.
import { expect } from 'vitest'
import {
  type CompactionPolicy,
  compactTranscript,
  fillCompactionPolicyDefaults,
  type Summarizer,
} from '../../../src/agents/compaction.ts'
import { textEnvelope, toolCallEnvelope, toolResultEnvelope } from '../../../src/agents/messages.ts'
import type { Envelope } from '../../../src/contract/gateway-events.ts'
import type { Case } from '../conform.ts'

const lines = (count: number) =>
  Array.from({ length: count }, (_, index) => textEnvelope(index % 2 === 0 ? 'user' : 'assistant', `line ${index}`))
const shorten = (
  messages: readonly Envelope[],
  policy: Partial<CompactionPolicy>,
  summarize: Summarizer = async () => 'in short',
) => compactTranscript(messages, fillCompactionPolicyDefaults({ enabled: true, ...policy }), summarize)
const eventTypes = (result: Awaited<ReturnType<typeof compactTranscript>>) => result.events.map((event) => event.type)
const overflow = { overflow_archive_enabled: true, overflow_threshold_bytes: 100, overflow_retained_messages: 2 }

export const compactionCases: readonly Case[] = [
  {
    id: 'L-37',
    claim: 'a short transcript is left alone, silently',
    run: async () => {
      const result = await shorten(lines(4), { max_messages: 4 })
      expect(result).toMatchObject({ metadata: { compaction: { status: 'skipped' } }, events: [] })
      expect(result.messages).toEqual(lines(4))
    },
  },
  {
    id: 'L-38',
    claim: 'six messages with two recent ones become a summary and two',
    run: async () => {
      const result = await shorten(lines(6), { max_messages: 4, recent_messages: 2 })
      expect(result.messages).toHaveLength(3)
      expect(result.messages[0]).toMatchObject({
        role: 'system',
        metadata: { agents_api_compaction: { compacted_message_count: 4, retained_message_count: 2 } },
      })
      const counts = {
        original: { item_count: 6 },
        compacted: { item_count: 1 },
        retained: { item_count: 2 },
        archived: { item_count: 4 },
      }
      expect(result.metadata.compaction['provenance']).toMatchObject(counts)
      expect(eventTypes(result)).toEqual(['compaction_started', 'compaction_completed'])
    },
  },
  {
    id: 'L-39',
    claim: 'a boundary on a tool result moves before its call',
    run: async () => {
      const call = toolCallEnvelope('', { tool: 'a/b', parameters: {}, turn: 1 }, { tool_call_id: 'x' })
      const result = toolResultEnvelope('{}', 'a/b', { success: true }, { tool_call_id: 'x' })
      const view = await shorten([textEnvelope('user', 'go'), call, result, textEnvelope('assistant', 'done')], {
        max_messages: 3,
        recent_messages: 2,
      })
      expect(view.messages.map((message) => message.type)).toEqual(['text', 'tool_call', 'tool_result', 'text'])
      expect(view.messages[0]?.content).toContain('in short')
    },
  },
  {
    id: 'L-40',
    claim: 'a summarizer that throws leaves the transcript as it was',
    run: async () => {
      const result = await shorten(lines(6), { max_messages: 4, recent_messages: 2 }, async () => {
        throw new Error('no model')
      })
      expect(result.messages).toEqual(lines(6))
      expect(eventTypes(result)).toEqual(['compaction_started', 'compaction_failed'])
    },
  },
  {
    id: 'L-41',
    claim: 'an oversized transcript is archived without a summary, under an id that repeats',
    run: async () => {
      const never: Summarizer = async () => {
        throw new Error('must not be asked')
      }
      const first = await shorten(lines(6), overflow, never)
      const second = await shorten(lines(6), overflow, never)
      expect(first.messages).toHaveLength(3)
      expect(first.archive_items).toEqual(lines(6).slice(0, 4))
      expect(first.metadata.compaction['archive_id']).toMatch(/^agents-api-overflow-[0-9a-f]{16}$/)
      expect(first.metadata.compaction['archive_id']).toBe(second.metadata.compaction['archive_id'])
    },
  },
  {
    id: 'L-42',
    claim: 'one oversized message cannot be split',
    run: () => shorten([textEnvelope('user', 'x'.repeat(500))], overflow),
    expected: { metadata: { compaction: { status: 'skipped', reason: 'overflow_input_unsplittable' } } },
  },
  {
    id: 'L-42b',
    claim: 'a summary that drops more than it may is refused',
    run: async () => {
      const dropping: Summarizer = async () => ({ summary: 'x', archived_items: [] })
      const policy = { max_messages: 4, recent_messages: 2, conservation_enabled: true }
      const result = await shorten(lines(6), policy, dropping)
      expect(result.metadata.compaction).toMatchObject({ status: 'failed', reason: 'conservation_failed' })
      expect(result.messages).toEqual(lines(6))
    },
  },
]
