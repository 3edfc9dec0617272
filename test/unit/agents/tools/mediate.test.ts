// The desk: what the loop hands over and what it is told, in the order that keeps people safe.
import { expect, test } from 'vitest'
import { approvalRequiredEnvelope } from '../../../../src/agents/messages.ts'
import { createCompletionGate, readGateRules } from '../../../../src/agents/tools/call-gate.ts'
import { createDuplicateCallGuard } from '../../../../src/agents/tools/call-guards.ts'
import { createToolCatalog } from '../../../../src/agents/tools/catalog.ts'
import { approvalRequired } from '../../../../src/agents/tools/tool.ts'
import { createResultTruncator } from '../../../../src/agents/tools/tool-result.ts'
import { createToolRunner, type ToolRunnerDeps } from '../../../../src/agents/tools/tool-runner.ts'
import type { Fields } from '../../../../src/lib/json-value.ts'
import { declared } from '../../../doubles/tool-call.ts'

const { signal } = new AbortController()
const tool = declared({ parameters: { properties: { password: {}, a: {} }, required: ['a'] } })

function desk(deps: Partial<ToolRunnerDeps> = {}, execute: (parameters: Fields) => unknown = () => 'done') {
  const made: Fields[] = []
  const all: ToolRunnerDeps = {
    catalog: createToolCatalog([tool, declared({ name: 'client/pick', executor: 'client', scope: 'run' }, 'client')]),
    executors: {
      default: (call) => {
        made.push(call.parameters)
        return execute(call.parameters)
      },
    },
    defaultTimeoutMs: 60_000,
    once: (_call, effect) =>
      effect({ key: 'k', fetch: globalThis.fetch, signal, assertHeld: () => {}, isUnsent: () => false }),
    ...deps,
  }
  const port = createToolRunner(all)
  const call = async (parameters: Fields = { a: 1 }, name = 'demo__act', id = 'c1') => {
    const ready = await port.ready({ name, parameters }, id, {})
    return port.run(ready, { turn: 1, context: {}, messages: [], signal, results: [], batchResults: [] })
  }
  return { port, call, made }
}

const stageApproval: NonNullable<ToolRunnerDeps['stageApproval']> = async (call) => ({
  envelope: approvalRequiredEnvelope('May I?', { action_id: `a-${call.id}` }),
  actionId: `a-${call.id}`,
})

test('a ready call has its canonical name, and its secrets only for the executor', async () => {
  const ready = await desk().port.ready({ name: 'demo__act', parameters: { a: 1, password: 'hunter2' } }, 'c1', {})
  expect(ready).toMatchObject({
    id: 'c1',
    tool_name: 'demo/act',
    redacted: { a: 1, password: '[redacted]' },
    prepared: { parameters: { a: 1, password: 'hunter2' }, metadata: { provider_tool_name: 'demo__act' } },
  })
})

test('a direct call runs and ends in its result', async () => {
  const { call, made } = desk()
  expect(await call()).toEqual({
    kind: 'result',
    result: { success: true, tool_name: 'demo/act', metadata: {}, result: 'done' },
    isRejected: false,
    isComplete: false,
  })
  expect(made).toEqual([{ a: 1 }])
})

test('a secret the tool echoes is gone from what is kept', async () => {
  const { call } = desk({}, ({ password }) => `with ${password}`)
  expect(await call({ a: 1, password: 'hunter2' })).toMatchObject({ result: { result: 'with [redacted]' } })
})

test('a call that could not be prepared is never approved, and a mediator may still end the run', async () => {
  const staged: string[] = []
  const ask: ToolRunnerDeps['stageApproval'] = (call, details) => {
    staged.push(call.id)
    return stageApproval(call, details)
  }
  const { call } = desk({ actionOf: () => 'preview', stageApproval: ask })
  expect(await call({})).toMatchObject({ result: { metadata: { error_type: 'missing_required_parameters' } } })
  expect(staged).toEqual([])
  const strict = desk({ mediators: [() => ({ action: 'reject', error: 'no', complete: true })] })
  expect(await strict.call({})).toMatchObject({ isRejected: true, isComplete: true, result: { error: 'no' } })
})

test('preview asks a person and does not run; forbidden does neither', async () => {
  const asking = desk({ actionOf: () => 'preview', stageApproval })
  expect(await asking.call()).toMatchObject({ kind: 'approval', actionId: 'a-c1' })
  const refusing = desk({ actionOf: () => 'forbidden', stageApproval })
  expect(await refusing.call()).toMatchObject({
    isRejected: true,
    result: { metadata: { error_type: 'action_forbidden' } },
  })
  expect([...asking.made, ...refusing.made]).toEqual([])
})

test('where nobody can be asked, nothing that needs asking runs', async () => {
  const { call, made } = desk({ actionOf: () => 'preview' })
  expect(await call()).toMatchObject({ isRejected: true, result: { metadata: { error_type: 'executor_unavailable' } } })
  expect(await call({}, 'client/pick')).toMatchObject({ isRejected: true })
  expect(made).toEqual([])
})

test('a tool may ask for approval itself', async () => {
  const { call } = desk({ stageApproval }, () => approvalRequired({ summary: 'Send 3 mails' }))
  expect(await call()).toMatchObject({ kind: 'approval', actionId: 'a-c1' })
})

test('a client tool waits for the other side', async () => {
  const { call } = desk({ stagePending: async ({ redacted }) => ({ request_id: 'r1', parameters: redacted }) })
  expect(await call({ password: 'x' }, 'client/pick')).toEqual({
    kind: 'pending',
    request: { request_id: 'r1', parameters: { password: '[redacted]' } },
  })
})

test('a call without permission bothers nobody', async () => {
  const catalog = createToolCatalog([declared({ required_capability: 'publish' })])
  const { call, made } = desk({ catalog, actionOf: () => 'preview', stageApproval })
  expect(await call()).toMatchObject({ kind: 'result', result: { metadata: { error_type: 'capability_denied' } } })
  expect(made).toEqual([])
})

test('the same call again is answered, not made, and told', async () => {
  const told: unknown[] = []
  const observe: ToolRunnerDeps['observe'] = (name, payload) => told.push([name, payload['tool_call_id']])
  const { call, made } = desk({ duplicates: createDuplicateCallGuard(), observe })
  await call()
  expect(await call({ a: 1 }, 'demo/act', 'c2')).toMatchObject({
    isRejected: true,
    result: { metadata: { error_type: 'duplicate_tool_call', duplicate_of: 'c1' } },
  })
  expect([made.length, told]).toEqual([1, [['duplicate_call_corrected', 'c2']]])
})

test('a long result is cut, and the full one goes to the audit', async () => {
  const { call } = desk({ truncate: createResultTruncator({ maxBytes: 50 }) }, () => 'x'.repeat(200))
  const end = await call()
  expect(end).toMatchObject({
    result: { result: { truncated: true, excerpt: 'x'.repeat(50) } },
    truncated: { truncated: true, excerpt_bytes: 50 },
    full: { result: 'x'.repeat(200) },
  })
})

test('diagnostics are attached, and one that throws is not', async () => {
  const attached = await desk({ diagnostics: () => ({ ms: 3 }) }).call()
  const broken = await desk({ diagnostics: () => JSON.parse('{') }).call()
  expect(attached).toMatchObject({ diagnostics: { ms: 3 } })
  expect(broken).not.toHaveProperty('diagnostics')
})

test('the completion gate tells the loop what is missing', () => {
  const gate = createCompletionGate(readGateRules([{ id: 'g', require_tool_use: true, require_one_of: ['demo/act'] }]))
  expect(gate([])).toEqual({
    rule_id: 'g',
    require_one_of: ['demo/act'],
    min_tool_calls: 1,
    calls: 0,
    message: 'call demo/act before you finish.',
  })
})
