// Names of tools that a caller runs itself: mapped to ours, the same every time, and found by policy in either spelling.
import { expect, test } from 'vitest'
import { resolveActionPolicy } from '../../../../src/agents/policy/action-policy.ts'
import { resolveVisibleTools } from '../../../../src/agents/policy/tool-policy.ts'
import { normalizeDeclarations } from '../../../../src/agents/tools/catalog.ts'
import { nameClientTools } from '../../../../src/agents/tools/tool-names.ts'

const declare = (...names: readonly string[]) =>
  normalizeDeclarations(nameClientTools(names.map((name) => ({ name }))), 'outside')
const namesOf = (...names: readonly string[]) => [...declare(...names).accepted.values()].map((tool) => tool.name)
const shown = (policy: object, ...names: readonly string[]) => {
  const visible = resolveVisibleTools(declare(...names).accepted, { policies: [policy] })
  return [...visible.values()].map((tool) => tool['declared_name'])
}

test('a name that fits ours stays what it is', () => {
  expect(namesOf('open_door', 'open-door')).toEqual(['client/open_door', 'client/open-door'])
})

test('any other name is mapped, readable, and the same every time', () => {
  const [first] = namesOf('confirmColor')
  expect(first).toMatch(/^client\/confirm_color-[0-9a-f]{8}$/)
  expect(namesOf('other', 'confirmColor')[1]).toBe(first)
})

test.each([
  ['confirmColor', 'ConfirmColor', 'confirm_color', 'confirm.color', 'confirm-color', 'confirm color'],
  ['größe', 'gr__e', '色を選ぶ', '色を選べ', '123', '___', '🎨'],
  ['client/a', 'a', 'a-2', 'client/a-2'],
  ['shop/order', 'shop__order', 'shop.order'],
  ['x'.repeat(256), `${'x'.repeat(255)}y`],
])('no two of %s, … are one, here or for a model', (...names) => {
  const { accepted, rejected } = declare(...names)
  expect(rejected).toEqual([])
  const tools = [...accepted.values()]
  expect(tools.map((tool) => tool['declared_name'])).toEqual(names)
  expect(new Set(tools.map((tool) => tool.provider_safe_name)).size).toBe(names.length)
  for (const { provider_safe_name } of tools) expect(provider_safe_name).toMatch(/^client__[A-Za-z0-9_-]{1,56}$/)
})

test('a model is told the name that the caller uses, where providers take it', () => {
  const [tool] = [...declare('confirmColor').accepted.values()]
  expect(tool?.provider_safe_name).toBe('client__confirmColor')
})

test('a name beyond all measure is left out, and the others are not', () => {
  const { accepted, rejected } = declare('x'.repeat(257), 'open_door')
  expect([...accepted.keys()]).toEqual(['client/open_door'])
  expect(rejected[0]?.reason).toContain('256 characters')
})

test('a caller cannot say itself what it is called here', () => {
  const named = nameClientTools([{ name: 'a', declared_name: 'bank/pay' }])
  expect(named).toEqual([{ name: 'client/a', declared_name: 'a' }])
})

test.each([
  ['all', 'all'],
  ['a pattern', ['client/*']],
  ['any', ['*']],
  ['the whole name', ['client/confirmColor']],
  ['the name the caller uses', ['confirmColor']],
  ['a pattern of it', ['confirm*']],
  ['a pattern inside', ['client/*Col*r']],
])('policy lets a caller’s tool in by %s', (_how, runtime_tools) => {
  expect(shown({ runtime_tools }, 'confirmColor')).toEqual(['confirmColor'])
})

test.each([
  ['nothing is said', {}],
  ['another name is', { runtime_tools: ['client/other', 'color', 'client/confirmColo'] }],
  ['it is denied', { runtime_tools: 'all', deny: ['client/confirm*'] }],
])('policy keeps a caller’s tool out where %s', (_how, policy) => {
  expect(shown(policy, 'confirmColor')).toEqual([])
})

test('a caller’s tool does not come in under the name of one of ours', () => {
  expect(shown({ mode: 'allow', tools: ['bank/pay', 'bank/*'] }, 'bank/pay')).toEqual([])
  expect(shown({ mandatory_tools: ['bank/pay'] }, 'bank/pay')).toEqual([])
})

test('how a caller’s tool may act is found by the name the caller uses', () => {
  const [tool] = [...declare('confirmColor').accepted.values()]
  if (tool === undefined) throw new Error('it was left out')
  const agentActionPolicy = { tools: { 'client/confirmColor': 'forbidden' } }
  expect(resolveActionPolicy({ toolName: tool.name, tool, agentActionPolicy })).toBe('forbidden')
})
