// Tools as configuration writes them.
import { expect, expectTypeOf, test } from 'vitest'
import * as z from 'zod'
import { defineTool, type Tool, toolExecutors } from '../../../../src/agents/tools/define-tool.ts'
import type { Fields } from '../../../../src/lib/json-value.ts'
import { ran } from '../../../doubles/tool-call.ts'

const weather = defineTool({
  name: 'demo/weather',
  description: 'Tells the weather.',
  parameters: z.object({ city: z.string().min(2), days: z.number().int().default(1) }),
  execute: ({ city, days }) => {
    expectTypeOf(city).toEqualTypeOf<string>()
    expectTypeOf(days).toEqualTypeOf<number>()
    return `${city} for ${days}`
  },
  idempotent: true,
  timeoutMs: 1000,
  action_policy: 'preview',
})
const run = (tool: Tool, parameters: Fields) => ran(tool.declaration, tool.execute, { parameters })

test('the schema gives the declaration its parameters', () => {
  expect(weather.declaration).toEqual({
    name: 'demo/weather',
    source: 'demo',
    description: 'Tells the weather.',
    parameters: {
      type: 'object',
      properties: {
        city: { type: 'string', minLength: 2 },
        days: { type: 'integer', default: 1, minimum: -9007199254740991, maximum: 9007199254740991 },
      },
      required: ['city'],
    },
    executor: 'host',
    scope: 'run',
    provider_safe_name: 'demo__weather',
    idempotent: true,
    timeout_ms: 1000,
    action_policy: 'preview',
  })
})

test('the function gets what the schema made of the arguments', async () => {
  expect((await run(weather, { city: 'Rome' })).result).toBe('Rome for 1')
})

test('checks that JSON Schema cannot express are told to the model', async () => {
  const even = defineTool({
    name: 'demo/even',
    description: 'Takes even numbers.',
    parameters: z.object({ n: z.number().refine(async (n) => n % 2 === 0, 'must be even') }),
    execute: ({ n }) => n,
  })
  expect(await run(even, { n: 3 })).toMatchObject({
    success: false,
    metadata: { error_type: 'invalid_parameters' },
    error: 'Invalid arguments: n: must be even. Correct them and call again.',
  })
})

test('a JSON Schema will do', async () => {
  const plain = defineTool({
    name: 'demo/plain',
    description: 'Takes a text.',
    parameters: { type: 'object', properties: { text: { type: 'string' } } },
    execute: (args) => {
      expectTypeOf(args).toEqualTypeOf<Fields>()
      return args['text']
    },
  })
  expect((await run(plain, { text: 'a' })).result).toBe('a')
  expect((await run(plain, { text: 1 })).metadata['error_type']).toBe('invalid_parameters')
})

test('a tool without a namespace, a description or an object schema is refused at once', () => {
  const good = { name: 'demo/x', description: 'x', parameters: {}, execute: () => 1 }
  expect(() => defineTool({ ...good, name: 'x' })).toThrow('namespace/name')
  expect(() => defineTool({ ...good, description: ' ' })).toThrow('description is required')
  // @ts-expect-error a text is no set of named parameters
  expect(() => defineTool({ ...good, parameters: z.string() })).toThrow('z.object')
})

test('a tool that names an executor is refused at once, since there is none that could run it', () => {
  const definition = { name: 'demo/x', description: 'x', parameters: {}, execute: () => 1 }
  expect(() => defineTool({ ...definition, runtime: { executor_target: 'sandbox' } })).toThrow(
    '[tool] demo/x: runtime.executor_target names "sandbox", and this gateway has no executors yet; leave it out and the tool runs in the gateway',
  )
})

test('a set of tools runs each by its name', async () => {
  const executors = toolExecutors([weather])
  const other = { ...weather.declaration, name: 'demo/other' }
  const found = await ran(weather.declaration, () => 'x', { deps: { executors }, parameters: { city: 'Rome' } })
  const missed = await ran(other, () => 'x', { deps: { executors }, parameters: { city: 'Rome' } })
  expect([found.result, missed.metadata['error_type']]).toEqual(['Rome for 1', 'executor_unavailable'])
})
