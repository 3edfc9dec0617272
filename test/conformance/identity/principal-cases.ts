// Principals, grants, ceilings, caller context, consent.

import { grantRoles } from '../../../src/db/grants.ts'
import { readCallerContext } from '../../../src/identity/call-chain.ts'
import { consentOperations, decideConsent } from '../../../src/identity/consent.ts'
import { type AccessGrant, accessibleAgents, checkGrants } from '../../../src/identity/grants.ts'
import {
  audiencePrincipal,
  ceilingAllows,
  conversationOwner,
  createPrincipal,
  isCapabilityGranted,
  loggablePrincipalFields,
  runtimePrincipal,
  tokenPrincipal,
  userPrincipal,
} from '../../../src/identity/principals.ts'
import { type Case, refusal } from '../conform.ts'

const ceiling = (allowed: readonly string[] | null, denied: readonly string[] | null = null) => ({
  user_id: 7,
  allowed_capabilities: allowed,
  denied_capabilities: denied,
  metadata: {},
})
const grant = (changes: Partial<AccessGrant>): AccessGrant => ({
  grant_id: 'g1',
  agent_id: 'demo',
  role: 'operator',
  workspace_id: null,
  to: { user_id: 7 },
  ...changes,
})
const user = userPrincipal(7, 'other')
const reached = (grants: readonly AccessGrant[], principal = user) =>
  grantRoles.map((role) => checkGrants(grants, { principal, agent: 'demo', role }).allowed)
const userHas = (_user: number, capability: string) => ['read', 'publish'].includes(capability)
const principalWith = (change: object) =>
  refusal(() => createPrincipal({ effective_agent_id: 'demo', auth_source: 'user', ...change }))

const header = (name: string) => `x-agents-api-${name}`
const caller = (given: Record<string, string>) => {
  const headers = Object.fromEntries(Object.entries(given).map(([name, value]) => [header(name), value]))
  const read = readCallerContext(headers, { newRoot: () => 'fresh' })
  return read.ok ? read.context.chain_depth : read.code
}
const hop = { 'caller-agent': 'a', 'caller-host': 'https://o.example', 'chain-depth': '2', 'chain-root': 'r' }
const without = (name: keyof typeof hop) => Object.fromEntries(Object.entries(hop).filter(([key]) => key !== name))

export const principalCases: readonly Case[] = [
  {
    id: 'I-01',
    claim: 'a token owns by its id, and shows neither that nor what it may do',
    run: () => {
      const principal = tokenPrincipal({ id: 456, ownerUser: 7 }, 'demo', {
        binding: { canary: 1 },
        capability_ceiling: ceiling(['canary']),
      })
      return [conversationOwner(principal), /456|canary/.test(JSON.stringify(loggablePrincipalFields(principal)))]
    },
    equals: [{ type: 'token', key: '456' }, false],
  },
  {
    id: 'I-02',
    claim: 'an audience owns nothing without a key',
    run: () => [
      conversationOwner(audiencePrincipal({ id: 'chat:w' }, 'demo')),
      conversationOwner(audiencePrincipal({ id: 'chat:w', ownerKey: 'k' }, 'demo')),
    ],
    equals: [undefined, { type: 'audience', key: 'k' }],
  },
  {
    id: 'I-03',
    claim: 'a runtime acts without a user and owns by its id',
    run: () => {
      const principal = runtimePrincipal({ id: 'ci' }, 'demo')
      return [principal.acting_user_id, principal.request_context, conversationOwner(principal)]
    },
    equals: [0, 'runtime', { type: 'runtime', key: 'ci' }],
  },
  {
    id: 'I-04',
    claim: 'a principal that cannot be is refused, and the field is named',
    run: async () => {
      const faults = [
        ['acting_user_id', { acting_user_id: -1 }],
        ['effective_agent_id', { effective_agent_id: '' }],
        ['auth_source', { auth_source: 'magic' }],
        ['token_id', { token_id: 0 }],
        ['request_metadata', { request_metadata: { big: 1n } }],
      ] as const
      const told = await Promise.all(faults.map(([, change]) => principalWith(change)))
      return told.map((message, at) => message.startsWith(`invalid_agent_execution_principal: ${faults[at]?.[0]} `))
    },
    equals: [true, true, true, true, true],
  },
  {
    id: 'I-05',
    claim: 'an operator may view and operate',
    run: () => reached([grant({})]),
    equals: [true, true, false],
  },
  {
    id: 'I-07',
    claim: 'a capability needs the ceiling and the user',
    run: () => {
      const principal = userPrincipal(7, 'demo', { capability_ceiling: ceiling(['read', 'fly']) })
      return Promise.all(['read', 'publish', 'fly'].map((name) => isCapabilityGranted(principal, name, userHas)))
    },
    equals: [true, false, false],
  },
  {
    id: 'I-08',
    claim: 'a token without lists reads; with one it does what is on it',
    run: () => {
      const bare = tokenPrincipal({ id: 1, ownerUser: 7 }, 'demo')
      const listed = tokenPrincipal({ id: 1, ownerUser: 7 }, 'demo', { capability_ceiling: ceiling(['publish']) })
      return Promise.all([
        isCapabilityGranted(bare, 'publish', userHas),
        isCapabilityGranted(bare, 'read', userHas),
        isCapabilityGranted(listed, 'publish', userHas),
      ])
    },
    equals: [false, true, true],
  },
  {
    id: 'I-09',
    claim: 'what is allowed and denied is denied',
    run: () => ceilingAllows(ceiling(['read'], ['read']), 'read'),
    equals: false,
  },
  {
    id: 'I-10',
    claim: 'acting as an agent shows it and no more; a host can take that away, in the list as at the door',
    differs: 'in agents-api an agent administers itself without a grant',
    run: () => {
      const self = userPrincipal(7, 'demo')
      const list = (narrowing?: () => boolean) =>
        accessibleAgents([], { principal: self, role: 'viewer', agents: ['demo'] }, narrowing)
      return [reached([], self), list(), list(() => false)]
    },
    equals: [[true, false, false], ['demo'], []],
  },
  {
    id: 'I-11',
    claim: 'what is granted to the public is granted to a user',
    run: () => reached([grant({ role: 'viewer', to: { audience_id: 'audience:public' } })]),
    equals: [true, false, false],
  },
  {
    id: 'I-13',
    claim: 'no headers are the top, a hop is a hop, and the rest is refused',
    run: () => [
      caller({}),
      caller(hop),
      caller({ 'chain-depth': '0', 'caller-agent': 'a' }),
      caller(without('caller-host')),
      caller(without('chain-root')),
      caller({ ...hop, 'caller-host': 'self' }),
      caller({ ...hop, 'chain-depth': '17' }),
      caller({ ...hop, 'chain-depth': 'abc' }),
    ],
    equals: [0, 2, ...Array.from({ length: 6 }, () => 'invalid_agent_caller_context')],
  },
  {
    id: 'I-13a',
    claim: 'what the top of a chain may say of itself is the top',
    differs: 'agents-api cannot read back the headers of a chain’s top',
    run: () => caller({ 'chain-depth': '0', 'caller-host': 'self', 'caller-user': '0' }),
    equals: 0,
  },
  {
    id: 'I-14',
    claim: 'nobody is asked in a timer, silence is no, one yes is one',
    run: () => [
      decideConsent('store_memory', { interactive: false, mode: 'cron', consent: { store_memory: true } }).reason,
      decideConsent('store_memory', { interactive: true, mode: 'chat', consent: {} }).reason,
      consentOperations.filter(
        (operation) => decideConsent(operation, { interactive: true, consent: { use_memory: true } }).allowed,
      ),
    ],
    equals: ['non_interactive_default_denied', 'explicit_consent_missing', ['use_memory']],
  },
]
