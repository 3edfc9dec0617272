// Who acts when a token speaks, from the evidence that was made when it was shown.
import { expect, test } from 'vitest'
import { mintEvidence } from '../../../src/contract/index.ts'
import {
  bearerPrincipal,
  ceilingAllows,
  effectiveCeiling,
  loggablePrincipalFields,
} from '../../../src/identity/principals.ts'

const proven = {
  subject: 'gw:token/89abcdef',
  issuer: 'gateway.example',
  method: 'urn:gw:auth:bearer-token:v0.1',
  assurance: 'oauth',
  recipient: '@demo@gateway.example',
  issuedAt: '2025-11-16T13:40:00.000Z',
} as const
const shown = (claims: Readonly<Record<string, unknown>> = {}) =>
  mintEvidence({ ...proven, tokenId: '89abcdef', claims })
const may = (claims: Readonly<Record<string, unknown>>, capability: string) => {
  const principal = bearerPrincipal(shown(claims), 'demo')
  return principal !== undefined && ceilingAllows(effectiveCeiling(principal), capability)
}

test('a token acts for itself, with its workspace and its client', () => {
  expect(bearerPrincipal(shown({ workspace_id: 'T1', client_id: 'shop' }), 'demo')).toMatchObject({
    acting_user_id: 0,
    effective_agent_id: 'demo',
    auth_source: 'agent_token',
    token_id: '89abcdef',
    owner_type: 'token',
    owner_key: '89abcdef',
    workspace_id: 'T1',
    client_id: 'shop',
  })
})

test('without a list it may look and not write; with one it may what is on it', () => {
  expect([may({}, 'read_orders'), may({}, 'publish_page')]).toEqual([true, false])
  const listed = { allowed_capabilities: ['publish_page'] }
  expect([may(listed, 'publish_page'), may(listed, 'read_orders')]).toEqual([true, false])
  expect(may({ allowed_capabilities: [] }, 'read_orders')).toBe(false)
})

test('what is shown of it names neither the token nor its capabilities', () => {
  const principal = bearerPrincipal(shown({ allowed_capabilities: ['canary'] }), 'demo')
  expect(JSON.stringify(principal && loggablePrincipalFields(principal))).not.toMatch(/canary|89abcdef/)
})

test('evidence by transport is no token’s', () => {
  expect(bearerPrincipal(mintEvidence(proven), 'demo')).toBeUndefined()
})
