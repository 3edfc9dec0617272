// Section 1 of the contract inventory: the message envelope.
import { expect } from 'vitest'
import {
  approvalRequiredEnvelope,
  coalesceSameRole,
  findOrphanToolLines,
  fromProviderMessage,
  normalizeMessage,
  removeOrphanToolLines,
  textEnvelope,
  toolCallEnvelope,
  toolResultEnvelope,
  toProviderMessage,
} from '../../../src/agents/messages.ts'
import type { Envelope } from '../../../src/contract/gateway-events.ts'
import { type Case, refusal } from '../conform.ts'

const approval = approvalRequiredEnvelope(
  'Publish it?',
  { action_id: 'a1', preview: { title: 'T' } },
  { source: 'test' },
)
const call = (tool: string, id?: string) =>
  toolCallEnvelope('', { tool, parameters: { q: 1 }, turn: 1 }, id === undefined ? {} : { tool_call_id: id })
const result = (tool: string, id?: string) =>
  toolResultEnvelope('{}', tool, { success: true }, id === undefined ? {} : { tool_call_id: id })
const orphans = (...messages: Envelope[]) => findOrphanToolLines(messages).map(({ index, kind }) => `${index} ${kind}`)
const partTypes = (message: Envelope | undefined) =>
  (message?.payload['parts'] as Envelope[] | undefined)?.map((part) => part.type)
const legacyCall = {
  role: 'assistant',
  content: 'AI ACTION (Turn 1): Executing Wiki Upsert',
  metadata: { type: 'tool_call', tool_name: 'wiki_upsert', parameters: { title: 'Example' }, turn: 1 },
}

export const messageCases: readonly Case[] = [
  {
    id: 'M-01',
    claim: 'an approval keeps its payload and metadata and speaks as the tool',
    run: () => approval,
    expected: {
      schema: 'agents-api.message',
      type: 'approval_required',
      role: 'tool',
      payload: { action_id: 'a1', preview: { title: 'T' } },
      metadata: { source: 'test' },
    },
  },
  {
    id: 'M-02',
    claim: 'a canonical envelope stays as it is',
    run: () => expect(normalizeMessage(approval)).toEqual(approval),
  },
  {
    id: 'M-03',
    claim: 'the projection folds type and payload into metadata and keeps what is there',
    run: () => toProviderMessage(approval),
    expected: {
      role: 'tool',
      content: 'Publish it?',
      metadata: { type: 'approval_required', action_id: 'a1', preview: { title: 'T' }, source: 'test' },
    },
  },
  {
    id: 'M-03b',
    claim: 'a projected line comes back as what it was',
    run: () =>
      expect(fromProviderMessage(toProviderMessage(legacyCall)).payload).toEqual(normalizeMessage(legacyCall).payload),
  },
  {
    id: 'M-04',
    claim: 'a legacy tool call row becomes an envelope and keeps its metadata whole',
    run: () => normalizeMessage(legacyCall),
    expected: {
      type: 'tool_call',
      payload: { tool_name: 'wiki_upsert', parameters: { title: 'Example' }, turn: 1 },
      metadata: legacyCall.metadata,
    },
  },
  {
    id: 'M-05',
    claim: 'the early data key is read as payload and never written',
    run: () => {
      const read = normalizeMessage({ version: 1, type: 'tool_result', data: { tool_name: 'x' } })
      expect(read.payload).toEqual({ tool_name: 'x' })
      expect(read).not.toHaveProperty('data')
    },
  },
  {
    id: 'M-06',
    claim: 'another version is refused',
    run: async () =>
      expect(
        await refusal(() => normalizeMessage({ schema: 'agents-api.message', version: 2, type: 'text', payload: {} })),
      ).toBe('invalid_ai_message_envelope: unsupported version'),
  },
  {
    id: 'M-07',
    claim: 'an unknown type is refused',
    run: async () =>
      expect(await refusal(() => normalizeMessage({ version: 1, type: 'note', payload: {} }))).toBe(
        'invalid_ai_message_envelope: unsupported type',
      ),
  },
  {
    id: 'M-07b',
    claim: 'a foreign schema is refused, and ours alone makes an envelope',
    differs: 'agents-api never compares the schema',
    run: async () => {
      expect(await refusal(() => normalizeMessage({ schema: 'other', version: 1, type: 'text' }))).toContain(
        'foreign schema',
      )
      const lost = normalizeMessage({ schema: 'agents-api.message', type: 'tool_call', payload: { tool_name: 'x' } })
      expect(lost.payload).toEqual({ tool_name: 'x' })
    },
  },
  {
    id: 'M-08',
    claim: 'a plain row with blocks is multimodal',
    run: () => normalizeMessage({ role: 'user', content: [{ type: 'image' }] }),
    expected: { type: 'multimodal_part', role: 'user' },
  },
  { id: 'M-09', claim: 'nothing coalesces to nothing', run: () => expect(coalesceSameRole([])).toEqual([]) },
  {
    id: 'M-10',
    claim: 'neighbours of one role become one message with two parts',
    run: () => {
      const joined = coalesceSameRole([textEnvelope('user', 'hi'), textEnvelope('assistant', 'hello'), call('a/b')])
      expect(joined).toHaveLength(2)
      expect(joined[1]).toMatchObject({ type: 'multimodal_part', role: 'assistant', content: 'hello' })
      expect(partTypes(joined[1])).toEqual(['text', 'tool_call'])
    },
  },
  {
    id: 'M-11',
    claim: 'three calls keep their order and payloads',
    run: () => {
      const [joined] = coalesceSameRole([call('a/1'), call('a/2'), call('a/3')])
      const parts = joined?.payload['parts'] as Envelope[] | undefined
      const names = parts?.map((part) => part.payload['tool_name'])
      expect(names).toEqual(['a/1', 'a/2', 'a/3'])
    },
  },
  {
    id: 'M-12',
    claim: 'coalescing what was coalesced nests nothing',
    run: () => {
      const [first] = coalesceSameRole([call('a/1'), call('a/2')])
      expect(partTypes(coalesceSameRole([first, call('a/3')])[0])).toEqual(['tool_call', 'tool_call', 'tool_call'])
    },
  },
  {
    id: 'M-13',
    claim: 'call, result, call stay three',
    run: () =>
      expect(coalesceSameRole([call('a/1'), result('a/1'), call('a/2')]).map((each) => each.role)).toEqual([
        'assistant',
        'user',
        'assistant',
      ]),
  },
  {
    id: 'M-14',
    claim: 'coalescing twice is coalescing once',
    run: () => {
      const once = coalesceSameRole([textEnvelope('user', 'a'), textEnvelope('user', 'b'), call('a/1')])
      expect(coalesceSameRole(once)).toEqual(once)
    },
  },
  {
    id: 'M-15',
    claim: 'a call without result, a result without call and crossed names are found',
    run: () => {
      expect(orphans(call('a/1'))).toEqual(['0 orphan_tool_call'])
      expect(orphans(textEnvelope('user', 'x'), result('a/1'))).toEqual(['1 orphan_tool_result'])
      expect(orphans(call('a/1'), result('a/2'))).toEqual(['0 orphan_tool_call', '1 orphan_tool_result'])
    },
  },
  {
    id: 'M-16',
    claim: 'of two calls without ids the first gets the result',
    run: () => expect(orphans(call('a/1'), call('a/1'), result('a/1'))).toEqual(['1 orphan_tool_call']),
  },
  {
    id: 'M-17',
    claim: 'ids pair results in any order',
    run: () => expect(orphans(call('a/1', 'x'), call('a/1', 'y'), result('a/1', 'y'), result('a/1', 'x'))).toEqual([]),
  },
  {
    id: 'M-18',
    claim: 'pruning a clean transcript changes nothing and says so',
    run: () => {
      const clean = [call('a/1', 'x'), result('a/1', 'x')]
      const pruned = removeOrphanToolLines(clean)
      expect(pruned.messages).toEqual(clean)
      expect(pruned.removed).toEqual([])
      expect(pruned.events).toEqual([{ type: 'tool_pair_validated', metadata: { total_messages: 2, orphan_count: 0 } }])
    },
  },
]
