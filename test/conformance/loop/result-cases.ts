// Result, observability and outcome of a run, and the run result other runtimes read.
import { expect } from 'vitest'
import { createBudget } from '../../../src/agents/loop/budget.ts'
import { normalizeResult } from '../../../src/agents/loop/conversation-result.ts'
import { readRunResult } from '../../../src/agents/loop/run-result.ts'
import { type Case, refusal } from '../conform.ts'

const event = (type: string, id: string, more: object = {}) => ({
  type,
  tool_name: 'alias__tool',
  tool_call_id: id,
  turn_count: 1,
  ...more,
})
const execution = (id: string, result: object) => ({
  tool_name: 'host/tool',
  tool_call_id: id,
  turn_count: 1,
  parameters: { b: '[redacted]', a: '[redacted]' },
  result,
})

export const resultCases: readonly Case[] = [
  {
    id: 'R-05',
    claim: 'messages alone make a whole, completed result',
    run: () => normalizeResult({ messages: [{ role: 'user', content: 'hi' }] }),
    expected: {
      schema: 'agents-api.conversation-result',
      version: 1,
      messages: [{ type: 'text' }],
      final_content: '',
      turn_count: 0,
      completed: true,
      tool_execution_results: [],
      tool_audit_events: [],
      tool_events: [],
      usage: { prompt_tokens: 0 },
      request_metadata: {},
      run_outcome: { status: 'completed', stop_reason: 'natural', retryable: false },
    },
  },
  {
    id: 'R-06',
    claim: 'a spent turns budget stops with max_turns and may be retried',
    run: () => normalizeResult({ messages: [], status: 'budget_exceeded', budget: 'turns', completed: false }),
    expected: {
      completed: false,
      run_outcome: { status: 'budget_exceeded', stop_reason: 'max_turns', retryable: true },
    },
  },
  {
    id: 'R-07',
    claim: 'a pending runtime tool is its own outcome',
    run: () => normalizeResult({ messages: [], status: 'runtime_tool_pending', runtime_tool_pending: {} }),
    expected: {
      completed: false,
      run_outcome: { status: 'runtime_tool_pending', stop_reason: 'runtime_tool_pending' },
    },
  },
  {
    id: 'R-08',
    claim: 'a typed provider failure is kept with its diagnostics',
    run: () =>
      normalizeResult({
        messages: [],
        status: 'failed',
        failure: { type: 'rate_limit', message: 'slow down' },
        provider_diagnostics: [{ status: 429 }],
      }),
    expected: {
      completed: false,
      provider_diagnostics: [{ status: 429 }],
      run_outcome: { status: 'failed', stop_reason: 'provider_error', provider_error: { type: 'rate_limit' } },
    },
  },
  {
    id: 'R-09',
    claim: 'observability tells what happened and not one value',
    run: () => {
      const result = normalizeResult({
        messages: [],
        tool_observability: { version: 9 },
        tool_events: [
          event('tool_call', '1'),
          event('tool_result', '1'),
          event('tool_call', '2'),
          event('tool_result', '2'),
          event('tool_call', '3'),
          event('tool_result', '3', { metadata: { rejected: true } }),
          event('tool_call', '4'),
          event('runtime_tool_pending', '4'),
        ],
        tool_execution_results: [
          execution('1', { success: true, result: { secret: 'canary' } }),
          execution('2', { success: false, error: 'canary exploded' }),
          execution('3', { success: false, error: 'canary refused' }),
        ],
      })
      const { calls, version } = result.tool_observability
      expect(version).toBe(1)
      expect(calls.map((call) => call.status)).toEqual(['succeeded', 'failed', 'rejected', 'pending'])
      expect(calls[0]).toMatchObject({
        tool_name: 'host/tool',
        arguments: { keys: ['a', 'b'], count: 2, redacted: true },
        result: { type: 'object', count: 1 },
      })
      expect(calls[1]?.error?.code).toBe('agents_api_tool_execution_failed')
      expect(calls[2]?.error?.code).toBe('agents_api_tool_call_rejected')
      expect(JSON.stringify(result.tool_observability)).not.toContain('canary')
    },
  },
  {
    id: 'R-10',
    claim: 'no status but completed looks like success',
    run: () => {
      const statuses = [
        'approval_required',
        'stalled',
        'interrupted',
        'failed',
        'runtime_tool_pending',
        'budget_exceeded',
        'cancelled',
      ]
      for (const status of statuses)
        expect(normalizeResult({ messages: [], status }).run_outcome).toMatchObject({ status, completed: false })
    },
  },
  {
    id: 'R-10b',
    claim: 'contention is an outcome of its own and may be retried',
    differs: 'agents-api reports contention as completed',
    run: () => normalizeResult({ messages: [], status: 'transcript_lock_contention' }),
    expected: { completed: false, run_outcome: { status: 'contention', retryable: true } },
  },
  {
    id: 'R-11',
    claim: 'a run result of another runtime is read: status, references and times are cleaned',
    run: () =>
      readRunResult({
        run_id: ' r1 ',
        status: 'Succeeded ',
        output: { answer: 42 },
        artifact_refs: [{ label: ' Report ', path: '', size: 3 }, 'a file', null, { label: ' ' }],
        evidence_refs: 'none',
        logs: ['a line', { line: 1 }],
        started_at: '2026-01-01T00:00:00Z',
        timestamps: { ended_at: '2026-01-01T00:00:09Z' },
      }),
    equals: {
      schema: 'agents-api/run-result/v1',
      version: 1,
      run_id: 'r1',
      status: 'succeeded',
      outputs: { answer: 42 },
      artifact_refs: [{ label: 'Report', size: 3 }],
      evidence_refs: [],
      logs: [{ line: 1 }],
      replay: {},
      provenance: {},
      timestamps: { started_at: '2026-01-01T00:00:00Z', ended_at: '2026-01-01T00:00:09Z' },
      error: {},
      cancellation: {},
      metadata: {},
    },
  },
  {
    id: 'R-11',
    claim: 'a status nobody knows is a run that goes on',
    run: () => ['finished?', undefined, 7].map((status) => readRunResult({ run_id: 'r1', status }).status),
    equals: ['running', 'running', 'running'],
  },
  {
    id: 'R-05b',
    claim: 'what does not fit is named with its path',
    run: async () => {
      expect(await refusal(() => normalizeResult({}))).toBe(
        'invalid_agent_conversation_result: messages must be an array',
      )
      const nameless = { messages: [], tool_execution_results: [{ tool_name: '' }] }
      expect(await refusal(() => normalizeResult(nameless))).toContain(
        'tool_execution_results[0].tool_name must be a non-empty string',
      )
    },
  },
  {
    id: 'L-54',
    claim: 'a budget has a ceiling of at least one and never less than nothing used',
    run: () => {
      const budget = createBudget({ name: 'x', ceiling: 0, current: -1 })
      expect([budget.ceiling, budget.current()]).toEqual([1, 0])
      budget.setCurrent(-5)
      expect(budget.current()).toBe(0)
      budget.increment()
      expect([budget.isExceeded(), budget.remaining()]).toEqual([true, 0])
    },
  },
]
