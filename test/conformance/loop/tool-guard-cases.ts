// Guards of tool calls, as far as they need no loop: repeated failures, truncation, the order of calls.

import { expect } from 'vitest'
import {
  findCallGateViolation,
  findCompletionGateViolation,
  readGateRules,
} from '../../../src/agents/tools/call-gate.ts'
import { createRepeatedCallGuard, createRepeatedFailureGuard } from '../../../src/agents/tools/call-guards.ts'
import { createToolCatalog } from '../../../src/agents/tools/catalog.ts'
import type { ToolResult } from '../../../src/agents/tools/tool.ts'
import { createResultTruncator } from '../../../src/agents/tools/tool-result.ts'
import type { Case } from '../conform.ts'

const success: ToolResult = { success: true, tool_name: 'demo/act', metadata: {}, result: 1 }
const failure: ToolResult = { success: false, tool_name: 'demo/act', metadata: { error_type: 'Busy!' }, error: 'busy' }

const catalog = createToolCatalog([])

/** How often each of these results in a row drew a nudge, as the count it named. */
async function nudges(results: readonly ToolResult[]): Promise<readonly unknown[]> {
  const guard = createRepeatedFailureGuard(catalog, { threshold: 2 })
  const counts: unknown[] = []
  for (const result of results) {
    if (result.success) guard.succeeded()
    counts.push(result.success ? undefined : (await guard.failed('demo/act', { a: 1 }, result))?.['repeat_count'])
  }
  return counts
}

async function repeats(parameters: readonly number[], threshold: number): Promise<unknown> {
  const guard = createRepeatedCallGuard(catalog, { threshold })
  for (const a of parameters) await guard.record('demo/act', { a })
  return [guard.stalled()?.['repeat_count'], guard.stalled()]
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
  return calls.filter((tool, index) => findCallGateViolation(rules, calls.slice(0, index), tool) === undefined)
}

export const guardCases: readonly Case[] = [
  {
    id: 'L-33',
    claim: 'two equal calls are a spin at threshold 2',
    run: () => repeats([1, 1], 2),
    equals: [2, undefined],
  },
  {
    id: 'L-33',
    claim: 'another call in between starts the count anew',
    run: () => repeats([1, 2, 1], 2),
    equals: [undefined, undefined],
  },
  {
    id: 'L-34',
    claim: 'the second equal failure draws a note to the model',
    differs: 'in agents-api the assistant says the note, and a success does not reset it',
    run: async () => {
      const guard = createRepeatedFailureGuard(catalog)
      await guard.failed('demo/act', { a: 1 }, failure)
      const { message, ...facts } = (await guard.failed('demo/act', { a: 1 }, failure)) ?? {}
      return { ...facts, isCounted: String(message).includes('failed 2 times') }
    },
    equals: {
      tool_name: 'demo/act',
      parameters_hash: 'sha256:015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862',
      signature_hash: expect.stringMatching(/^sha256:/),
      error_code: 'busy',
      repeat_count: 2,
      threshold: 2,
      isCounted: true,
    },
  },
  {
    id: 'L-34',
    claim: 'every further equal failure draws another',
    run: () => nudges([failure, failure, failure]),
    equals: [undefined, 2, 3],
  },
  {
    id: 'L-34',
    claim: 'a success starts the count anew',
    differs: 'in agents-api the assistant says the note, and a success does not reset it',
    run: () => nudges([failure, success, failure, failure]),
    equals: [undefined, undefined, undefined, 2],
  },
  {
    id: 'L-34',
    claim: 'another error is another failure',
    run: () => nudges([failure, { ...failure, metadata: {}, error: 'else' }, failure]),
    equals: [undefined, undefined, undefined],
  },
  {
    id: 'L-35',
    claim: 'a long body becomes an excerpt with markers, its citations are kept and bulky metadata is not',
    run: () => createResultTruncator({ maxBytes: 80 })(long, 'demo/act'),
    equals: (() => {
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
    claim: 'a short result stays as it is',
    run: () => createResultTruncator()(long, 'demo/act').truncated,
    equals: false,
  },
  {
    id: 'L-35',
    claim: 'a long error text is cut too',
    run: () => createResultTruncator({ maxBytes: 10 })({ ...failure, error: 'é'.repeat(100) }, 'demo/act').result.error,
    equals: `${'é'.repeat(5)} [truncated]`,
  },
  {
    id: 'L-36',
    claim: 'a first citation over the limit drops itself and all after it',
    run: () => {
      const result = { ...long, result: { citations: [cite('a', 'x'.repeat(200)), cite('b')] }, metadata: {} }
      const { metadata } = createResultTruncator({ maxBytes: 80 })(result, 'demo/act')
      return { citations: metadata['citations'], dropped: metadata['citations_dropped'] }
    },
    equals: { citations: undefined, dropped: 2 },
  },
  {
    id: 'L-43',
    claim: 'after the anchor the third read is refused until the write',
    run: () => executed(['demo/start', 'demo/read', 'demo/read', 'demo/read', 'demo/write', 'demo/read']),
    equals: ['demo/start', 'demo/read', 'demo/read', 'demo/write', 'demo/read'],
  },
  {
    id: 'L-43',
    claim: 'a new anchor opens the count again',
    run: () => executed(['demo/start', 'demo/write', 'demo/start', 'demo/read', 'demo/read', 'demo/read']),
    equals: ['demo/start', 'demo/write', 'demo/start', 'demo/read', 'demo/read'],
  },
  {
    id: 'L-44',
    claim: 'a run may not end between the anchor and the commit',
    run: () =>
      [[], ['demo/start'], ['demo/start', 'demo/read'], ['demo/start', 'demo/write']].map(
        (called) => findCompletionGateViolation(rules, called)?.message,
      ),
    equals: [undefined, 'call demo/write before you finish.', 'call demo/write before you finish.', undefined],
  },
  {
    id: 'L-45',
    claim: 'a run that must use a tool may not end with narration',
    run: () => {
      const must = readGateRules([{ require_tool_use: 'yes', min_tool_calls: 2 }])
      return [[], ['demo/read'], ['demo/read', 'demo/read']].map(
        (called) => findCompletionGateViolation(must, called)?.context['rule_id'],
      )
    },
    equals: ['rule-1', 'rule-1', undefined],
  },
]
