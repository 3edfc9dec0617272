// A model's arguments against a schema: what is refused, and in which words.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { validateArguments } from '../../../../src/agents/tools/json-schema.ts'
import {
  declarationForModel,
  fillBoundParameters,
  missingParameters,
  modelParametersSchema,
} from '../../../../src/agents/tools/parameters.ts'
import { bindAndValidateCall } from '../../../../src/agents/tools/tool-runner.ts'
import { declared, prepared } from '../../../doubles/tool-call.ts'

const schema = {
  type: 'object',
  properties: {
    count: { type: 'integer', minimum: 1, maximum: 10 },
    unit: { enum: ['C', 'F'] },
    tags: { type: 'array', items: { type: 'string', maxLength: 3 }, maxItems: 2, uniqueItems: true },
    place: { type: 'object', properties: { lat: { type: 'number' } }, required: ['lat'], additionalProperties: false },
    note: { type: ['string', 'null'] },
    either: { anyOf: [{ type: 'string' }, { type: 'object', required: ['id'] }] },
    node: { $ref: '#/$defs/node' },
    step: { multipleOf: 0.1 },
    not: { not: { type: 'string' } },
  },
  required: ['count'],
  $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' }, v: { type: 'integer' } } } },
}
const sentences = (value: unknown) => validateArguments(schema, value).map(({ path, message }) => `${path} ${message}`)

test.each<[unknown, readonly string[]]>([
  [{ count: 1, unit: 'C', tags: ['a'], place: { lat: 1.5 }, note: null, either: 'x', step: 0.3, not: 1 }, []],
  [{ count: '1' }, ['count must be integer, not string']],
  [{ count: 1.5 }, ['count must be integer, not number']],
  [{ count: 0 }, ['count must be at least 1']],
  [{ count: 11 }, ['count must be at most 10']],
  [{}, ['count is required']],
  [{ count: 1, unit: 'K' }, ['unit must be one of "C", "F"']],
  [{ count: 1, tags: ['long', 2] }, ['tags[0] must have at most 3 characters', 'tags[1] must be string, not integer']],
  [{ count: 1, tags: ['a', 'a'] }, ['tags must not repeat an item']],
  [{ count: 1, place: { lng: 2 } }, ['place.lat is required', 'place.lng is not a parameter']],
  [{ count: 1, either: {} }, ['either must be string, not object']],
  [{ count: 1, node: { next: { next: { v: 'x' } } } }, ['node.next.next.v must be integer, not string']],
  [{ count: 1, step: 0.25 }, ['step must be a multiple of 0.1']],
  [{ count: 1, not: 'x' }, ['not has a form that is ruled out']],
  [[], [' must be object, not array']],
])('%j gives %j', (value, expected) => expect(sentences(value)).toEqual(expected))

test('a fault never shows the value', () => {
  const hidden = validateArguments(
    { properties: { pin: { type: 'integer', enum: [1] }, s: { maxLength: 2 } } },
    { pin: 'hunter2', s: 'hunter2' },
  )
  expect(hidden).toHaveLength(2)
  expect(JSON.stringify(hidden)).not.toContain('hunter2')
})

test('schemas that run in circles and values without a bottom come to an end', () => {
  const circle = { $ref: '#', anyOf: [{ $ref: '#' }, { $ref: '#' }] }
  expect(validateArguments(circle, {}).length).toBeGreaterThan(0)
  const deep = JSON.parse(`${'{"next":'.repeat(500)}1${'}'.repeat(500)}`)
  expect(sentences({ count: 1, node: deep }).join()).toContain('too deep')
})

test('a pattern from a stranger is not run', () => {
  expect(validateArguments({ properties: { a: { pattern: '^(a+)+$' } } }, { a: `${'a'.repeat(64)}!` })).toEqual([])
})

test('any JSON against any JSON schema ends in a list of at most eight faults', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue(), (given, value) => {
      expect(validateArguments(given, value).length).toBeLessThanOrEqual(8)
    }),
  )
})

describe('a call', () => {
  test('with wrong arguments is refused in words the model can act on', () => {
    const { refusal } = prepared(declared({ parameters: schema }), { count: '1' })
    expect(refusal).toEqual({
      success: false,
      tool_name: 'demo/act',
      metadata: {
        error_type: 'invalid_parameters',
        invalid_parameters: [{ path: 'count', message: 'must be integer, not string' }],
      },
      error: 'Invalid arguments for demo/act: count must be integer, not string. Correct them and call again.',
    })
  })

  test('whose bound value does not fit is not blamed on the model', () => {
    const tool = declared({
      parameters: schema,
      parameter_bindings: { count: { source: 'context', path: 'n', authoritative: true } },
    })
    expect(prepared(tool, { count: 1 }, { n: 'many' }).refusal?.metadata['error_type']).toBe('invalid_bound_parameters')
  })

  test('of an unknown tool shows a short, clean name', () => {
    const requested = { name: `x\u0000\n${'y'.repeat(500)}`, parameters: {} }
    const { refusal, id } = bindAndValidateCall({ find: () => undefined }, requested, {
      turn: 3,
      ordinal: 2,
      context: {},
    })
    expect({ error: refusal?.error, id }).toEqual({
      error: `Tool 'x${'y'.repeat(127)}' not found`,
      id: 'tool-call-3-2',
    })
  })

  test('whose arguments were no JSON is refused, not guessed at', () => {
    const find = () => declared()
    const place = { turn: 1, ordinal: 1, context: {} }
    const broken = bindAndValidateCall(
      { find },
      { name: 'x', parameters: {}, metadata: { invalid_arguments: true } },
      place,
    )
    // A provider's adapter is not to be trusted to its type.
    const list = bindAndValidateCall({ find }, { name: 'x', parameters: [] as never }, place)
    expect([broken, list].map((each) => each.refusal?.metadata['error_type'])).toEqual([
      'invalid_parameters',
      'invalid_parameters',
    ])
  })
})

test('null and empty text are missing unless the schema takes them on purpose', () => {
  const required = {
    required: ['a', 'b', 'c', 'd'],
    properties: { c: { type: ['string', 'null'] }, d: { minLength: 0 } },
  }
  expect(missingParameters(required, { a: '', b: null, c: null, d: '' })).toEqual(['a', 'b'])
})

test('an authoritative value always wins, whatever the model sends', () => {
  const bindings = { who: { source: 'context', path: 'a.b', authoritative: true } }
  const tool = declared({ parameter_bindings: bindings, parameter_defaults: { who: 'default' } })
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue(), (given, value) => {
      const sent = { ...given, who: 'model' }
      expect(fillBoundParameters(tool, sent, { a: { b: value } })['who']).toEqual(JSON.parse(JSON.stringify(value)))
      expect(fillBoundParameters(tool, sent, {})['who']).toBe('default')
    }),
  )
})

test('a path finds own fields only', () => {
  const tool = declared({ parameter_bindings: { a: 'context.constructor', b: 'context.user.toString' } })
  expect(fillBoundParameters(tool, {}, { user: {} })).toEqual({})
})

test('the model is not shown the default of a secret', () => {
  const tool = declared({ parameters: { properties: { api_key: { type: 'string', default: 'k', examples: ['k'] } } } })
  expect(modelParametersSchema(tool)).toEqual({ type: 'object', properties: { api_key: { type: 'string' } } })
})

test('the model is given the declaration with that schema', () => {
  const tool = declared({ parameters: { properties: { a: { required: true } } } })
  expect(declarationForModel(tool)).toEqual({ ...tool, parameters: modelParametersSchema(tool) })
})

test('the old way to say required reaches the model as a list', () => {
  const tool = declared({ parameters: { properties: { a: { type: 'string', required: true }, b: {} } } })
  expect(modelParametersSchema(tool)).toEqual({
    type: 'object',
    properties: { a: { type: 'string' }, b: {} },
    required: ['a'],
  })
})
