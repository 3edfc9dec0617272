// Every kind of principal, what it owns, what may be shown of it, and how evidence becomes one.
import { describe, expect, test } from 'vitest'
import { isAutonomous, principalForDisplay } from '../../../src/agents/policy/principal.ts'
import {
  applicationPrincipal,
  audiencePrincipal,
  conversationOwner,
  createEvidenceResolver,
  createExternalPrincipal,
  createPrincipal,
  loggablePrincipalFields,
  runtimePrincipal,
  systemPrincipal,
  tokenPrincipal,
  userPrincipal,
} from '../../../src/identity/principals.ts'
import { ownEvidence, senderWith } from '../../doubles/evidence.ts'

const kinds = [
  ['user', userPrincipal(7, 'demo'), { type: 'user', key: '7' }],
  ['application_password', applicationPrincipal(7, 'demo'), { type: 'user', key: '7' }],
  ['agent_token', tokenPrincipal({ id: 456, ownerUser: 7 }, 'demo'), { type: 'token', key: '456' }],
  ['audience', audiencePrincipal({ id: 'chat:T1' }, 'demo'), undefined],
  ['audience', audiencePrincipal({ id: 'chat:T1', ownerKey: 'k' }, 'demo'), { type: 'audience', key: 'k' }],
  ['runtime', runtimePrincipal({ id: 'ci' }, 'demo'), { type: 'runtime', key: 'ci' }],
  ['system', systemPrincipal('demo'), { type: 'system', key: 'demo' }],
] as const

test.each(kinds)('a principal by %s owns its own sessions and no others', (source, principal, owner) => {
  expect(principal.auth_source).toBe(source)
  expect(conversationOwner(principal)).toEqual(owner)
})

test('a principal without an explicit owner owns by user, then by token', () => {
  const base = { effective_agent_id: 'demo', acting_user_id: 7 }
  expect(conversationOwner(createPrincipal({ ...base, auth_source: 'user' }))).toEqual({ type: 'user', key: '7' })
  expect(conversationOwner(createPrincipal({ ...base, auth_source: 'agent_token', token_id: 3 }))).toEqual({
    type: 'token',
    key: '3',
  })
})

test('a principal cannot be changed, nor through what it was made from', () => {
  const request_metadata = { nested: { role: 'guest' } }
  const principal = userPrincipal(7, 'demo', { request_metadata })
  request_metadata.nested.role = 'admin'
  expect(principal.request_metadata).toEqual({ nested: { role: 'guest' } })
  expect(() => Object.assign(principal, { acting_user_id: 1 })).toThrow(TypeError)
  expect(() => Object.assign(principal.request_metadata['nested'] as object, { role: 'admin' })).toThrow(TypeError)
})

test.each([
  ['acting_user_id', { acting_user_id: -1 }],
  ['acting_user_id', { acting_user_id: 1.5 }],
  ['effective_agent_id', { effective_agent_id: ' ' }],
  ['auth_source', { auth_source: 'magic' }],
  ['request_context', { request_context: '' }],
  ['token_id', { token_id: 0 }],
  ['audience_id', { audience_id: ' ' }],
  ['owner_key', { owner_type: 'user' }],
  ['request_metadata', { request_metadata: { big: 1n } }],
  ['binding', { binding: { big: 1n } }],
])('a fault in %s is named', (field, change) => {
  const facts = { effective_agent_id: 'demo', auth_source: 'user', ...change }
  expect(() => createPrincipal(facts)).toThrow(`invalid_agent_execution_principal: ${field}`)
})

test('a host may know further sources of authority', () => {
  const facts = { effective_agent_id: 'demo', auth_source: 'kerberos' }
  expect(createPrincipal(facts, ['kerberos']).auth_source).toBe('kerberos')
})

describe('what is shown of a principal', () => {
  const principal = tokenPrincipal({ id: 'canary-token', ownerUser: 7 }, 'demo', {
    request_metadata: { canary: 1 },
    binding: { canary: 1 },
    capability_ceiling: { user_id: 7, allowed_capabilities: ['canary'], denied_capabilities: null, metadata: {} },
  })

  test('is what kind it is, never its token, key, metadata, binding or capabilities', () => {
    const shown = loggablePrincipalFields(principal)
    expect(JSON.stringify(shown)).not.toContain('canary')
    expect(shown).toEqual({
      schema_version: 1,
      effective_agent_id: 'demo',
      auth_source: 'agent_token',
      request_context: 'rest',
      acting_user_id: 7,
      workspace_id: null,
      client_id: null,
      audience_id: null,
      owner_type: 'token',
      has_conversation_owner: true,
      has_capability_ceiling: true,
      has_caller_context: false,
    })
  })

  test.each(kinds)('tools read the same of a principal by %s', (_source, each) => {
    const withoutNulls = Object.fromEntries(
      Object.entries(loggablePrincipalFields(each)).filter(([, value]) => value !== null),
    )
    expect(principalForDisplay({ ...each })).toEqual(withoutNulls)
  })

  test('tools that write are for people', () => {
    expect(isAutonomous({ ...userPrincipal(7, 'demo') })).toBe(false)
    expect(isAutonomous({ ...principal })).toBe(true)
    expect(isAutonomous({ ...runtimePrincipal({ id: 'ci' }, 'demo') })).toBe(true)
  })
})

describe('an external person', () => {
  const scene = { agent: 'demo', connector: 'team-chat', provider: 'chat', workspace: 'default' }

  test('is an audience of its own, named by connection and subject', async () => {
    const evidence = ownEvidence()
    const person = await createEvidenceResolver().resolve(senderWith(evidence), { ...scene, evidence, links: [] })
    expect(person?.id).toBe(evidence.subject)
    expect(person?.principal).toMatchObject({
      acting_user_id: 0,
      auth_source: 'audience',
      request_context: 'chat',
      workspace_id: 'default',
      audience_id: 'chat:default',
      owner_type: 'audience',
      owner_key: 'team-chat:space:T123/U456',
    })
  })

  test('shares no owner key with anybody, on any connection', () => {
    const connectors = ['a', 'a-b', 'b']
    const subjects = ['space:1', 'b:space:1', 'a:space:1', 'space:1/2', 'space:12']
    const keys = connectors.flatMap((connector) =>
      subjects.map((subject) => createExternalPrincipal(ownEvidence({ subject }), { ...scene, connector }).owner_key),
    )
    expect(new Set(keys).size).toBe(keys.length)
  })

  test('is who an operator linked the subject to', async () => {
    const evidence = ownEvidence()
    const links = [{ subject: evidence.subject, principal: 'mail:ada@example.org' }]
    const person = await createEvidenceResolver().resolve(senderWith(evidence), { ...scene, evidence, links })
    expect(person?.id).toBe('mail:ada@example.org')
  })
})
