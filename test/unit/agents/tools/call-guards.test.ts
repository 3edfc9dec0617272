// Guards around calls: sizes, repetition, the audit trail.
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createToolAudit, redactAndHashParameters } from '../../../../src/agents/loop/tool-records.ts'
import { createGateMediator, listCalledTools, readGateRules } from '../../../../src/agents/tools/call-gate.ts'
import {
  createDuplicateCallGuard,
  createRepeatedFailureGuard,
  hashCallSignature,
  isRepeatableTool,
} from '../../../../src/agents/tools/call-guards.ts'
import { createToolCatalog } from '../../../../src/agents/tools/catalog.ts'
import type { ToolResult } from '../../../../src/agents/tools/tool.ts'
import { createResultTruncator, redactResultForStorage } from '../../../../src/agents/tools/tool-result.ts'
import { truncateToBytes } from '../../../../src/lib/index.ts'
import type { Fields } from '../../../../src/lib/json-value.ts'
import { declared } from '../../../doubles/tool-call.ts'

const none = createToolCatalog([])
const done = (result: unknown = 1): ToolResult => ({ success: true, tool_name: 'demo/act', metadata: {}, result })
const failed = (metadata: Fields): ToolResult => ({ success: false, tool_name: 'demo/act', metadata, error: 'x' })
const sizeOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value)).length

test('an excerpt fits its limit and never ends in half a character', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('a', 'é', '漢', '😀', '\u0000')), fc.nat(40), (characters, limit) => {
      const clean = characters.join('')
      const cut = truncateToBytes(clean, limit)
      expect(new TextEncoder().encode(cut).length).toBeLessThanOrEqual(limit)
      expect(clean.startsWith(cut)).toBe(true)
      // As much as fits: the next character would not.
      const next = [...clean.slice(cut.length)][0]
      if (next !== undefined) expect(new TextEncoder().encode(cut + next).length).toBeGreaterThan(limit)
    }),
  )
})

test('a truncated result is bounded, whatever the tool returned', () => {
  const parts = fc.record({
    result: fc.jsonValue(),
    metadata: fc.dictionary(fc.string(), fc.jsonValue()),
    success: fc.boolean(),
    limit: fc.integer({ min: 1, max: 300 }),
  })
  fc.assert(
    fc.property(parts, ({ result, metadata, success, limit }) => {
      const given: ToolResult = success
        ? { success, tool_name: 't', metadata, result }
        : { success, tool_name: 't', metadata, error: JSON.stringify(result) }
      const cut = createResultTruncator({ maxBytes: limit })(given, 't')
      expect(cut.truncated).toBe(sizeOf(given) > limit)
      // An excerpt of JSON may need escapes once more, at most six bytes for one.
      if (cut.truncated) expect(sizeOf(cut.result)).toBeLessThan(limit * 12 + 600)
      else expect(cut.result).toBe(given)
    }),
  )
})

test('the audit hash covers the whole result, and no parameter shows', async () => {
  const { redacted, parameters_sha256: parametersSha256 } = await redactAndHashParameters({ token: 's3cret', q: 1 })
  const call = { turn: 1, toolName: 'demo/act', toolCallId: 'c1', source: 'demo', parametersSha256 }
  const event = await createToolAudit({ ...call, result: done('a') })
  expect(redacted).toEqual({ q: 1, token: '[redacted]' })
  expect(event).toEqual({
    schema_version: 1,
    type: 'tool_call',
    turn_count: 1,
    tool_name: 'demo/act',
    tool_call_id: 'c1',
    tool_source: 'demo',
    parameters_sha256: (await redactAndHashParameters({ q: 1, token: 'other' })).parameters_sha256,
    parameters_redacted: true,
    success: true,
    result_status: 'success',
    result_sha256: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
  })
  const other = await createToolAudit({ ...call, result: done('b') })
  expect(other.result_sha256).not.toBe(event.result_sha256)
  const broken = await createToolAudit({ ...call, result: failed({ error_type: 'busy' }) })
  expect(broken).toMatchObject({ result_status: 'error', error_type: 'busy' })
})

test('a secret parameter never comes back in what is stored, however the tool echoes it', () => {
  const secret = fc.oneof(fc.string({ minLength: 4 }), fc.integer({ min: 1000 }))
  const declared = { sensitive_parameters: ['pin', 'list.*'] }
  fc.assert(
    fc.property(secret, secret, (pin, item) => {
      fc.pre(![pin, item].some((value) => '[redacted] success result echo text nested'.includes(String(value))))
      const echo = { text: `pin ${pin}, item ${item}`, nested: [{ pin, item }] }
      const stored = redactResultForStorage(done(echo), { pin, list: [item] }, declared)
      const texts = JSON.stringify([stored.result])
      for (const value of [pin, item]) expect(texts).not.toContain(JSON.stringify(value).replace(/^"|"$/g, ''))
    }),
  )
})

test('a stored request to a client has its secrets hidden and the rest whole', () => {
  const request = { tool_name: 'client/pick', tool_call_id: 'c1', parameters: { password: '12', a: 1 } }
  const pending: ToolResult = { ...failed({}), status: 'runtime_tool_pending', runtime_tool_request: request }
  expect(redactResultForStorage(pending, request.parameters).runtime_tool_request).toEqual({
    tool_name: 'client/pick',
    tool_call_id: 'c1',
    parameters: { a: 1, password: '[redacted]' },
  })
})

test('calls that differ in a secret only are two calls with one public hash', async () => {
  const [a, b, c] = await Promise.all([
    hashCallSignature(none, 'demo/act', { pin: 1, password: 'a' }),
    hashCallSignature(none, 'demo/act', { password: 'b', pin: 1 }),
    hashCallSignature(none, 'demo/act', { password: 'a', pin: 1 }),
  ])
  expect(a.key).not.toBe(b.key)
  expect(a.key).toBe(c.key)
  expect(a.payload).toEqual(b.payload)
})

/** Plays calls in order; true where a call was corrected. */
async function corrected(calls: readonly (readonly [Fields, ToolResult])[]): Promise<readonly boolean[]> {
  const duplicates = createDuplicateCallGuard()
  const answers: boolean[] = []
  for (const [fields, result] of calls) {
    const declaration = declared(fields)
    const signature = await hashCallSignature(none, declaration.name, {})
    const correction = duplicates.check(signature, declaration)
    answers.push(correction !== undefined)
    if (correction === undefined) duplicates.record(signature, declaration, `c${answers.length}`, result)
  }
  return answers
}

const read = { name: 'demo/read', idempotent: true }
const write = { name: 'demo/write' }
const unknown = failed({ outcome: 'unknown' })

test.each<[string, readonly (readonly [Fields, ToolResult])[], readonly boolean[]]>([
  [
    'a write that succeeded is not made again',
    [
      [write, done()],
      [read, done()],
      [write, done()],
    ],
    [false, false, true],
  ],
  [
    'a write that failed is',
    [
      [write, failed({})],
      [write, done()],
    ],
    [false, false],
  ],
  [
    'a write that may have happened is not',
    [
      [write, unknown],
      [write, done()],
    ],
    [false, true],
  ],
  [
    'a read is not made twice in a row',
    [
      [read, done()],
      [read, done()],
    ],
    [false, true],
  ],
  [
    'a read after a write is',
    [
      [read, done()],
      [write, done()],
      [read, done()],
    ],
    [false, false, false],
  ],
  [
    'a read that may have happened is',
    [
      [read, unknown],
      [read, done()],
    ],
    [false, false],
  ],
  [
    'a repeatable tool always is',
    [
      [{ ...write, runtime: { duplicate_policy: 'repeatable' } }, done()],
      [{ ...write, runtime: { duplicate_policy: 'repeatable' } }, done()],
    ],
    [false, false],
  ],
])('%s', async (_name, calls, expected) => expect(await corrected(calls)).toEqual(expected))

test('repeatable is what the declaration says', () => {
  const tools = [declared({ runtime: { duplicate_policy: 'repeatable' } }), declared()]
  expect(tools.map(isRepeatableTool)).toEqual([true, false])
})

test('a correction says which call stands', async () => {
  const duplicates = createDuplicateCallGuard()
  const signature = await hashCallSignature(none, 'demo/act', {})
  duplicates.record(signature, declared(), 'c1', done())
  expect(duplicates.check(signature, declared())).toMatchObject({
    success: false,
    metadata: { error_type: 'duplicate_tool_call', duplicate_of: 'c1' },
  })
})

test('a failure without a code is known by a hash of its text', async () => {
  const guard = createRepeatedFailureGuard(none)
  await guard.failed('demo/act', {}, failed({}))
  expect((await guard.failed('demo/act', {}, failed({})))?.['error_code']).toMatch(/^error_[0-9a-f]{12}$/)
})

test('gate rules are read in every spelling, and those that could never apply are dropped', () => {
  const canonical = (name: string) => name.replace('__', '/')
  expect(
    readGateRules(
      [
        {
          after_tool: 'a__b',
          limited_tool_names: ['a/c'],
          max_calls: '2',
          then_require_one_of: 'a__d',
          gate_calls: 'off',
        },
        { after_tool: 'a/b' },
        { require_one_of: ['a/b'] },
        'nothing',
      ],
      canonical,
    ),
  ).toEqual([
    {
      id: 'rule-1',
      after_tool: 'a/b',
      limited_tools: ['a/c'],
      max_calls: 2,
      require_one_of: ['a/d'],
      require_tool_use: false,
      min_tool_calls: 1,
      gate_calls: false,
      gate_completion: true,
    },
  ])
})

test('only calls are calls, whatever a text or a result looks like', () => {
  const line = (type: 'text' | 'tool_call' | 'tool_result', tool_name: string) => ({ type, payload: { tool_name } })
  expect(listCalledTools([line('text', 'a/b'), line('tool_call', 'a/c'), line('tool_result', 'a/d')])).toEqual(['a/c'])
})

test('the gate refuses as a mediator, before the call under judgement is counted', async () => {
  const rules = readGateRules([
    { id: 'g', after_tool: 'a/start', limited_tools: ['a/read'], max_calls: 1, require_one_of: ['a/end'] },
  ])
  const judge = (called: readonly string[]) => {
    const messages = called.map((tool_name) => ({ type: 'tool_call', payload: { tool_name } }))
    // The gate reads two fields of the transcript and the name.
    return createGateMediator(rules)({ messages, tool_name: called.at(-1) } as never)
  }
  expect(await judge(['a/start', 'a/read'])).toEqual({ action: 'proceed' })
  expect(await judge(['a/start', 'a/read', 'a/read'])).toMatchObject({
    action: 'reject',
    metadata: { error_type: 'tool_call_gate_rejected', rule_id: 'g', calls: 1 },
  })
})
