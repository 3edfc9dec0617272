// Who may use a tool that needs a capability: by the host's word, by a grant, by a token's list, and never beyond the ceiling.
import { expect, test } from 'vitest'
import {
  audiencePrincipal,
  createCapabilityCheck,
  tokenPrincipal,
  userPrincipal,
} from '../../../src/identity/principals.ts'

const ceiling = (allowed: readonly string[] | null, denied: readonly string[] | null = null) => ({
  capability_ceiling: { user_id: 0, allowed_capabilities: allowed, denied_capabilities: denied, metadata: {} },
})
const stranger = audiencePrincipal({ id: 'chat:default', ownerKey: 'chat:space:1' }, 'demo')
const token = (allowed: readonly string[] | null, denied: readonly string[] | null = null) =>
  tokenPrincipal({ id: 'abcd', ownerUser: 0 }, 'demo', ceiling(allowed, denied))

test.each([
  ['somebody from outside may nothing', stranger, false],
  ['an operator by grant may', { ...stranger, role: 'operator' }, true],
  ['an admin by grant may', { ...stranger, role: 'admin' }, true],
  ['a viewer may not', { ...stranger, role: 'viewer' }, false],
  ['a role nobody knows is none', { ...stranger, role: 'owner' }, false],
  ['a user may whom the host lets', userPrincipal(7, 'demo'), true],
  ['a user may not whom the host does not', userPrincipal(8, 'demo'), false],
  ['a token may what its list names', token(['refund']), true],
  ['a token without a list may not', token(null), false],
  ['a denial wins over the list', token(['refund'], ['refund']), false],
  ['an operator may nothing beyond the ceiling', { ...stranger, ...ceiling(['read']), role: 'operator' }, false],
])('%s', async (_claim, who, expected) => {
  const check = createCapabilityCheck((user) => user === 7)
  expect(await check.can({ ...who }, 'refund')).toBe(expected)
})

test('a principal that cannot be read is refused, not guessed', async () => {
  const check = createCapabilityCheck(() => true)
  await expect(check.can({ auth_source: 'none' }, 'refund')).rejects.toThrow('invalid_agent_execution_principal')
})
