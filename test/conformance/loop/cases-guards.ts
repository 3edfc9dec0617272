// loop 3.13, 3.14 and 3.17, as far as they need no loop: repeated failures, truncation, the order of calls.

import { gateCall, gateCompletion } from '../../../src/agent/tools/call-gate.ts'
import { callSignature } from '../../../src/agent/tools/call-signature.ts'
import { createFailureTracker } from '../../../src/agent/tools/failure-tracker.ts'
import { readGateRules } from '../../../src/agent/tools/gate-rules.ts'
import { createSpinDetector } from '../../../src/agent/tools/spin-detector.ts'
import type { ToolResult } from '../../../src/agent/tools/tool.ts'
import { createResultTruncator } from '../../../src/agent/tools/truncate-result.ts'
import type { ConformanceCase, Difference } from './case.ts'

const success: ToolResult = { success: true, tool_name: 'demo/act', metadata: {}, result: 1 }
const failure: ToolResult = { success: false, tool_name: 'demo/act', metadata: { error_type: 'Busy!' }, error: 'busy' }

/** How often each of these results in a row drew a nudge, as the count it named. */
async function nudges(results: readonly ToolResult[]): Promise<readonly unknown[]> {
  const tracker = createFailureTracker({ threshold: 2 })
  const signature = await callSignature('demo/act', { a: 1 })
  const counts: unknown[] = []
  for (const result of results) counts.push((await tracker.record(signature, result))?.event['repeat_count'])
  return counts
}

async function repeats(parameters: readonly number[], threshold: number): Promise<unknown> {
  const detector = createSpinDetector({ threshold })
  for (const a of parameters) detector.record(await callSignature('demo/act', { a }))
  return detector.check()?.['repeat_count']
}

const cite = (id: string, excerpt = 'x') => ({ source_id: id, excerpt })
const long: ToolResult = {
  success: true,
  tool_name: 'demo/act',
  metadata: { citations: [cite('b')], bulk: 'y'.repeat(200), citations_dropped: 9 },
  result: { body: 'z'.repeat(200), citations: [cite('a')] },
}

const commit = {
  id: 'commit',
  after_tool: 'demo/start',
  limited_tools: ['demo/read'],
  max_calls: 2,
  require_one_of: 'demo/write',
}
const rules = readGateRules([commit])

/** Which of these calls the gate lets through. */
function executed(calls: readonly string[]): readonly string[] {
  return calls.filter((tool, index) => gateCall(rules, calls.slice(0, index), tool) === undefined)
}

export const guardCases: readonly ConformanceCase[] = [
  { id: 'L-33', what: 'two equal calls are a spin at threshold 2', run: () => repeats([1, 1], 2), expected: 2 },
  {
    id: 'L-33',
    what: 'another call in between starts the count anew',
    run: () => repeats([1, 2, 1], 2),
    expected: undefined,
  },
  {
    id: 'L-34',
    what: 'the second equal failure draws a note to the model that no channel shows',
    run: async () => {
      const tracker = createFailureTracker()
      const signature = await callSignature('demo/act', { a: 1 })
      await tracker.record(signature, failure)
      const nudge = await tracker.record(signature, failure)
      const { role, metadata, content } = nudge?.note ?? { role: '', metadata: {}, content: '' }
      return { role, metadata, isCounted: String(content).includes('failed 2 times'), code: nudge?.event['error_code'] }
    },
    expected: {
      role: 'user',
      metadata: { type: 'identical_failure_nudge', audience: 'model' },
      isCounted: true,
      code: 'busy',
    },
  },
  {
    id: 'L-34',
    what: 'every further equal failure draws another',
    run: () => nudges([failure, failure, failure]),
    expected: [undefined, 2, 3],
  },
  {
    id: 'L-34',
    what: 'a success starts the count anew',
    run: () => nudges([failure, success, failure, failure]),
    expected: [undefined, undefined, undefined, 2],
  },
  {
    id: 'L-34',
    what: 'another error is another failure',
    run: () => nudges([failure, { ...failure, metadata: {}, error: 'else' }, failure]),
    expected: [undefined, undefined, undefined],
  },
  {
    id: 'L-35',
    what: 'a long body becomes an excerpt with markers, its citations are kept and bulky metadata is not',
    run: () => createResultTruncator({ maxBytes: 80 })(long, 'demo/act'),
    expected: (() => {
      const markers = {
        truncated: true,
        original_bytes: JSON.stringify(long).length,
        excerpt_bytes: 80,
        citations: [cite('a'), cite('b')],
      }
      const excerpt = JSON.stringify(long.result).slice(0, 80)
      return {
        truncated: true,
        metadata: markers,
        result: {
          success: true,
          tool_name: 'demo/act',
          metadata: { metadata_dropped: true, ...markers },
          result: { ...markers, excerpt },
        },
      }
    })(),
  },
  {
    id: 'L-35',
    what: 'a short result stays as it is',
    run: () => createResultTruncator()(long, 'demo/act').truncated,
    expected: false,
  },
  {
    id: 'L-35',
    what: 'a long error text is cut too',
    run: () => createResultTruncator({ maxBytes: 10 })({ ...failure, error: 'é'.repeat(100) }, 'demo/act').result.error,
    expected: `${'é'.repeat(5)} [truncated]`,
  },
  {
    id: 'L-36',
    what: 'a first citation over the limit drops itself and all after it',
    run: () => {
      const result = { ...long, result: { citations: [cite('a', 'x'.repeat(200)), cite('b')] }, metadata: {} }
      const { metadata } = createResultTruncator({ maxBytes: 80 })(result, 'demo/act')
      return { citations: metadata['citations'], dropped: metadata['citations_dropped'] }
    },
    expected: { citations: undefined, dropped: 2 },
  },
  {
    id: 'L-43',
    what: 'after the anchor the third read is refused until the write',
    run: () => executed(['demo/start', 'demo/read', 'demo/read', 'demo/read', 'demo/write', 'demo/read']),
    expected: ['demo/start', 'demo/read', 'demo/read', 'demo/write', 'demo/read'],
  },
  {
    id: 'L-43',
    what: 'a new anchor opens the count again',
    run: () => executed(['demo/start', 'demo/write', 'demo/start', 'demo/read', 'demo/read', 'demo/read']),
    expected: ['demo/start', 'demo/write', 'demo/start', 'demo/read', 'demo/read'],
  },
  {
    id: 'L-44',
    what: 'a run may not end between the anchor and the commit',
    run: () =>
      [[], ['demo/start'], ['demo/start', 'demo/read'], ['demo/start', 'demo/write']].map(
        (called) => gateCompletion(rules, called)?.message,
      ),
    expected: [
      undefined,
      'COMPLETION BLOCKED: call demo/write before you finish.',
      'COMPLETION BLOCKED: call demo/write before you finish.',
      undefined,
    ],
  },
  {
    id: 'L-45',
    what: 'a run that must use a tool may not end with narration',
    run: () => {
      const must = readGateRules([{ require_tool_use: 'yes', min_tool_calls: 2 }])
      return [[], ['demo/read'], ['demo/read', 'demo/read']].map(
        (called) => gateCompletion(must, called)?.context['rule_id'],
      )
    },
    expected: ['rule-1', 'rule-1', undefined],
  },
]

export const guardDifferences: readonly Difference[] = [
  {
    id: 'L-34',
    because: 'trap 16',
    ours: 'the nudge is a note to the model, hidden from channels, and a success resets it',
  },
]
