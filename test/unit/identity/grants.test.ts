// Grants and ceilings: who may do how much, and that nothing but a grant makes it more.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type GrantRole, grantRoles } from '../../../src/db/grants.ts'
import { type AccessGrant, accessibleAgents, checkGrants } from '../../../src/identity/grants.ts'
import {
  audiencePrincipal,
  type CapabilityCeiling,
  ceilingAllows,
  effectiveCeiling,
  isCapabilityGranted,
  narrowCeiling,
  runtimePrincipal,
  tokenPrincipal,
  userPrincipal,
} from '../../../src/identity/principals.ts'

const grant = (changes: Partial<AccessGrant>): AccessGrant => ({
  grant_id: 'g1',
  agent_id: 'demo',
  role: 'operator',
  workspace_id: null,
  to: { user_id: 7 },
  ...changes,
})
const user = userPrincipal(7, 'other', { workspace_id: 'w1' })
const person = audiencePrincipal({ id: 'chat:w1', ownerKey: 'team:space:U1' }, 'other', { workspace_id: 'w1' })
const allowedFor = (grants: readonly AccessGrant[], principal = user) =>
  grantRoles.filter((role) => checkGrants(grants, { principal, agent: 'demo', role }).allowed)

describe('a grant', () => {
  test.each<[GrantRole, readonly GrantRole[]]>([
    ['viewer', ['viewer']],
    ['operator', ['viewer', 'operator']],
    ['admin', ['viewer', 'operator', 'admin']],
  ])('of %s reaches %j', (role, reached) => {
    expect(allowedFor([grant({ role })])).toEqual(reached)
  })

  test.each<[string, Partial<AccessGrant>]>([
    ['for another user', { to: { user_id: 8 } }],
    ['for nobody', { to: { user_id: 0 } }],
    ['for another agent', { agent_id: 'demo2' }],
    ['in another workspace', { workspace_id: 'w2' }],
    ['for another audience', { to: { audience_id: 'chat:w2' } }],
    ['for another person', { to: { owner_key: 'team:space:U12' } }],
  ])('%s reaches nothing', (_what, changes) => {
    expect(allowedFor([grant(changes)])).toEqual([])
    expect(allowedFor([grant(changes)], person)).toEqual([])
  })

  test('may be for one person from outside, for an audience, or for everybody', () => {
    expect(allowedFor([grant({ to: { owner_key: 'team:space:U1' } })], person)).toEqual(['viewer', 'operator'])
    expect(allowedFor([grant({ to: { audience_id: 'chat:w1' } })], person)).toEqual(['viewer', 'operator'])
    expect(allowedFor([grant({ to: { audience_id: 'audience:public' } })])).toEqual(['viewer', 'operator'])
  })

  test('for user 0 never means everybody without an account', () => {
    expect(allowedFor([grant({ to: { user_id: 0 } })], person)).toEqual([])
  })
})

test('acting as an agent shows it and opens nothing', () => {
  expect(allowedFor([], userPrincipal(7, 'demo'))).toEqual(['viewer'])
})

test('a host can only take away, and lists what it lets in', () => {
  const grants = [grant({}), grant({ grant_id: 'g2', agent_id: 'demo2' })]
  const narrowing = ({ agent }: { readonly agent: string }) => agent !== 'demo2'
  const question = { principal: user, role: 'viewer', agents: ['demo', 'demo2', 'demo3'] } as const
  expect(accessibleAgents(grants, question)).toEqual(['demo', 'demo2'])
  expect(accessibleAgents(grants, question, narrowing)).toEqual(['demo'])
  expect(accessibleAgents([], question, () => true)).toEqual([])
  expect(checkGrants(grants, { principal: user, agent: 'demo2', role: 'viewer' }, narrowing)).toEqual({
    allowed: false,
    code: 'narrowed',
  })
})

const ceiling = (changes: Partial<CapabilityCeiling>): CapabilityCeiling => ({
  user_id: 7,
  allowed_capabilities: null,
  denied_capabilities: null,
  metadata: {},
  ...changes,
})

describe('a ceiling', () => {
  test.each<[string, Partial<CapabilityCeiling>, string, boolean]>([
    ['without lists allows all', {}, 'publish', true],
    ['with a list allows what is on it', { allowed_capabilities: ['read'] }, 'read', true],
    ['with a list denies the rest', { allowed_capabilities: ['read'] }, 'publish', false],
    ['with an empty list allows nothing', { allowed_capabilities: [] }, 'read', false],
    ['denies what is on both lists', { allowed_capabilities: ['read'], denied_capabilities: ['read'] }, 'read', false],
    ['denies a verb with its objects', { denied_capabilities: ['publish'] }, 'publish_posts', false],
    ['does not take a longer word for it', { denied_capabilities: ['edit'] }, 'editorial', true],
    ['denies a blank', {}, ' ', false],
  ])('%s', (_what, changes, capability, expected) => {
    expect(ceilingAllows(ceiling(changes), capability)).toBe(expected)
  })

  test('of two never allows what one of them does not', () => {
    const names = fc.subarray(['read', 'publish', 'publish_posts', 'delete'])
    const any = fc.option(
      fc.record({
        user_id: fc.constantFrom(0, 7),
        allowed_capabilities: fc.option(names),
        denied_capabilities: fc.option(names),
        metadata: fc.constant({}),
      }),
    )
    fc.assert(
      fc.property(any, any, fc.constantFrom('read', 'publish', 'publish_posts', 'delete', 'x'), (one, other, name) => {
        const together = ceilingAllows(narrowCeiling(one, other), name)
        expect(together).toBe(ceilingAllows(one, name) && ceilingAllows(other, name))
      }),
    )
  })

  test('of two users allows nothing', () => {
    const both = narrowCeiling(ceiling({ user_id: 1 }), ceiling({ user_id: 2 }))
    expect(ceilingAllows(both, 'read')).toBe(false)
  })
})

describe('a capability', () => {
  const has = (_user: number, capability: string) => ['read', 'publish'].includes(capability)

  test('is there when ceiling and user both have it', async () => {
    const limited = userPrincipal(7, 'demo', { capability_ceiling: ceiling({ allowed_capabilities: ['read', 'fly'] }) })
    expect(await isCapabilityGranted(limited, 'read', has)).toBe(true)
    expect(await isCapabilityGranted(limited, 'publish', has)).toBe(false)
    expect(await isCapabilityGranted(limited, 'fly', has)).toBe(false)
  })

  test('is never there for nobody', async () => {
    expect(await isCapabilityGranted(person, 'read', () => true)).toBe(false)
  })

  test('of an autonomous principal without a list is to read', async () => {
    const token = tokenPrincipal({ id: 1, ownerUser: 7 }, 'demo')
    expect(await isCapabilityGranted(token, 'publish', has)).toBe(false)
    expect(await isCapabilityGranted(token, 'read', has)).toBe(true)
    expect(effectiveCeiling(token)?.metadata).toEqual({ autonomous_safe_default: true })
    expect(effectiveCeiling(runtimePrincipal({ id: 'ci' }, 'demo'))?.denied_capabilities).toContain('publish')
    const listed = tokenPrincipal({ id: 1, ownerUser: 7 }, 'demo', {
      capability_ceiling: ceiling({ allowed_capabilities: ['publish'] }),
    })
    expect(await isCapabilityGranted(listed, 'publish', has)).toBe(true)
  })
})
