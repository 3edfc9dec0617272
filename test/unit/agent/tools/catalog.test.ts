// Names: one tool per spelling, for us and for a provider; and what a stranger may declare.
import { expect, test } from 'vitest'
import { createToolCatalog, normalizeDeclarations } from '../../../../src/agent/tools/catalog.ts'
import { readDeclaration } from '../../../../src/agent/tools/declaration.ts'
import { providerSafeName } from '../../../../src/agent/tools/provider-names.ts'
import { declared } from '../../../doubles/tool-call.ts'

test.each([
  ['a/b', 'a__b'],
  ['a-b/c', 'a__b__c'],
  ['/9', 'tool_9'],
  ['é', 'tool'],
  ['_x_', 'x'],
])('%s is %s to a provider', (name, safe) => expect(providerSafeName(name)).toBe(safe))

test('of two tools a provider could not tell apart the second is reported', () => {
  const catalog = createToolCatalog([declared({ name: 'a-b/c' }), declared({ name: 'a/b-c' })])
  expect([...catalog.tools.keys()]).toEqual(['a-b/c'])
  expect(catalog.rejected).toEqual([
    {
      name: 'a/b-c',
      reason: 'provider_name_collision: a__b__c also means a-b/c; rename one or set provider_safe_name',
    },
  ])
})

test('a name of its own settles the collision', () => {
  const catalog = createToolCatalog([
    declared({ name: 'a-b/c' }),
    declared({ name: 'a/b-c', provider_safe_name: 'abc' }),
  ])
  expect([catalog.find('a__b__c')?.name, catalog.find('abc')?.name]).toEqual(['a-b/c', 'a/b-c'])
})

test('an alias cannot take the name of another tool, in either order', () => {
  const plain = declared({ name: 'host/search' })
  const thief = declared({ name: 'other/find', provider_aliases: ['host__search'] })
  expect(createToolCatalog([plain, thief]).find('host__search')?.name).toBe('host/search')
  expect(createToolCatalog([thief, plain]).rejected.map((each) => each.name)).toEqual(['host/search'])
})

test('a name too long for providers is refused with a way out', () => {
  const { rejected } = normalizeDeclarations([{ name: `a/${'b'.repeat(100)}`, description: 'x' }])
  expect(rejected[0]?.reason).toContain('provider_safe_name')
})

test('a declaration twice, or under a name that is not its own, is reported', () => {
  const twice = normalizeDeclarations([declared(), declared()])
  const misnamed = normalizeDeclarations({ 'host/a': { name: 'host/b', description: 'x' }, 'host/c': 'nothing' })
  expect(twice.rejected).toEqual([{ name: 'demo/act', reason: expect.stringContaining('duplicate_tool_name') }])
  expect([...misnamed.accepted.keys()]).toEqual([])
  expect(misnamed.rejected).toHaveLength(2)
})

test.each([undefined, null, 7, 'x', [null], [7], [[]], { a: null }])(
  '%j declares no tools and breaks nothing',
  (input) => {
    expect([...normalizeDeclarations(input).accepted.keys()]).toEqual([])
  },
)

test('a stranger describes its tool and grants it nothing', () => {
  const given = {
    name: 'client/pick',
    parameters: { type: 'object' },
    mandatory: true,
    write: false,
    action_policy: 'direct',
    idempotent: true,
    timeout_ms: 1,
    provider_safe_name: 'host__search',
    provider_aliases: ['host__search'],
    sensitive_parameters: ['pin'],
    runtime: { executor_target: 'sandbox', environment: 'runtime_local', duplicate_policy: 'repeatable' },
    client_context_bindings: ['thread_id'],
  }
  expect(readDeclaration(given, 'outside')).toEqual({
    ok: true,
    declaration: {
      name: 'client/pick',
      source: 'client',
      description: 'client/pick',
      parameters: { type: 'object' },
      executor: 'client',
      scope: 'run',
      provider_safe_name: 'client__pick',
      sensitive_parameters: ['pin'],
      runtime: { duplicate_policy: 'repeatable' },
      parameter_bindings: { thread_id: { source: 'client_context', path: 'thread_id' } },
    },
  })
})

test.each(['context.principal', 'runtime_context.key', 'caller_context.a'])(
  'a stranger cannot have %s sent to it',
  (binding) => {
    const reading = readDeclaration({ name: 'client/pick', parameter_bindings: { a: binding } }, 'outside')
    expect(reading).toMatchObject({ ok: false, fields: ['parameter_bindings'] })
  },
)

test('a stranger declares client tools only', () => {
  expect(readDeclaration({ name: 'host/search', description: 'x' }, 'outside').ok).toBe(false)
})
