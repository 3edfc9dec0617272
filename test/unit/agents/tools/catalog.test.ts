// Names: one tool per spelling, for us and for a provider; and what a stranger may declare.
import { expect, test } from 'vitest'
import { createToolCatalog, normalizeDeclarations } from '../../../../src/agents/tools/catalog.ts'
import { readDeclaration } from '../../../../src/agents/tools/declaration.ts'
import { toProviderSafeName } from '../../../../src/agents/tools/tool-names.ts'
import { declared } from '../../../doubles/tool-call.ts'

test.each([
  ['a/b', 'a__b'],
  ['every/get-sum', 'every__get-sum'],
  ['files/read_file', 'files__read_file'],
  ['a_b/c_', 'a_b__c_'],
])('%s is %s to a provider', (name, safe) => expect(toProviderSafeName(name)).toBe(safe))

test('no two names have one spelling, and every spelling is one that providers take', () => {
  const pieces = [
    'a',
    'a-b',
    'a_b',
    'a__b',
    'a_',
    'a__',
    'a-',
    'a--b',
    'a_-b',
    'b',
    'b__c',
    'c',
    'a_xf',
    'z'.repeat(60),
  ]
  const names = pieces.flatMap((space) => pieces.map((name) => `${space}/${name}`))
  const ending = toProviderSafeName('a__b/c').slice(-18)
  const crafted = [`a/b_c${ending.toLowerCase()}`, `a__b/c${ending.toLowerCase()}`, 'A/b', 'a/B', 'é', '_x_', '/9', '']
  const spellings = [...names, ...crafted].map(toProviderSafeName)
  expect(spellings.filter((each) => !/^[A-Za-z][A-Za-z0-9_-]{0,63}$/.test(each))).toEqual([])
  expect(new Set(spellings).size).toBe(spellings.length)
})

test('tools whose names differ in a stroke or a slash only are both there, each found by its own spelling', () => {
  const all = ['a-b/c', 'a/b-c', 'a__b/c', 'a/b__c', `long/${'n'.repeat(90)}`, `long/${'n'.repeat(91)}`]
  const catalog = createToolCatalog(all.map((name) => declared({ name })))
  expect(catalog.rejected).toEqual([])
  expect(all.map((name) => catalog.find(toProviderSafeName(name))?.name)).toEqual(all)
})

test('of two tools that were given one spelling the second is reported', () => {
  const catalog = createToolCatalog([
    declared({ name: 'a/b', provider_safe_name: 'abc' }),
    declared({ name: 'a/c', provider_safe_name: 'abc' }),
  ])
  expect([...catalog.tools.keys()]).toEqual(['a/b'])
  expect(catalog.rejected).toEqual([
    { name: 'a/c', reason: 'provider_name_collision: abc also means a/b; rename one or set provider_safe_name' },
  ])
})

test('an alias cannot take the name of another tool, in either order', () => {
  const plain = declared({ name: 'host/search' })
  const thief = declared({ name: 'other/find', provider_aliases: ['host__search'] })
  expect(createToolCatalog([plain, thief]).find('host__search')?.name).toBe('host/search')
  expect(createToolCatalog([thief, plain]).rejected.map((each) => each.name)).toEqual(['host/search'])
})

test('a spelling of its own that no provider takes is refused', () => {
  const { rejected } = normalizeDeclarations([{ name: 'a/b', description: 'x', provider_safe_name: 'a b' }])
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
