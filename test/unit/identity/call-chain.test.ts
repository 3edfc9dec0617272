// Hops between agents are counted, end, and never go in circles.
import { describe, expect, test } from 'vitest'
import {
  describeCallChainForAgent,
  findAgentLoopFault,
  nextAgentChain,
  type Visit,
} from '../../../src/identity/call-chain.ts'

const chain = (hop: number, max_hops: number) => ({ hop, max_hops, is_final: hop === max_hops })

test.each<[string, Parameters<typeof nextAgentChain>, unknown]>([
  ['a person’s message begins a chain', [undefined], { ok: true, chain: chain(1, 4) }],
  ['an agent without a chain is its first hop', [undefined, { isFromAgent: true }], { ok: true, chain: chain(2, 4) }],
  ['every dispatch is one hop more', [chain(2, 4)], { ok: true, chain: chain(3, 4) }],
  ['the last hop says so', [chain(3, 4)], { ok: true, chain: { hop: 4, max_hops: 4, is_final: true } }],
  ['after the last there is none', [chain(4, 4)], { ok: false, code: 'gw:hop_limit' }],
  ['a longer limit from outside is cut to ours', [chain(1, 10)], { ok: true, chain: chain(2, 4) }],
  ['a shorter one is kept', [chain(1, 2)], { ok: true, chain: chain(2, 2) }],
  ['a hop beyond our limit ends it', [chain(6, 10)], { ok: false, code: 'gw:hop_limit' }],
  ['our limit may be lower', [chain(1, 4), { ceiling: 1 }], { ok: false, code: 'gw:hop_limit' }],
  [
    'a chain that contradicts itself',
    [{ hop: 2, max_hops: 4, is_final: true }],
    { ok: false, code: 'NM_CHAIN_INVALID' },
  ],
  ['hop 0', [{ hop: 0, max_hops: 4, is_final: false }], { ok: false, code: 'NM_CHAIN_INVALID' }],
  ['half a hop', [{ hop: 1.5, max_hops: 4, is_final: false }], { ok: false, code: 'NM_CHAIN_INVALID' }],
  ['no number', [{ hop: Number.NaN, max_hops: 4, is_final: false }], { ok: false, code: 'NM_CHAIN_INVALID' }],
])('%s', (_claim, args, expected) => {
  expect(nextAgentChain(...args)).toEqual(expected)
})

test('the agent is told where it stands', () => {
  expect(describeCallChainForAgent(undefined)).toBeUndefined()
  expect(describeCallChainForAgent(chain(2, 4))).toContain('hop 2 of 4')
  expect(describeCallChainForAgent(chain(2, 4))).toContain('2 remaining')
  expect(describeCallChainForAgent(chain(4, 4))).toContain('do not call another agent')
})

describe('a circle', () => {
  const person: Visit = { thread: 't1', by: 'person' }
  const agent = (name: string, thread = 't1'): Visit => ({ thread, by: 'agent', agent: name })

  test.each<[string, readonly Visit[], string, boolean]>([
    ['A calls B', [person, agent('a')], 'b', false],
    ['A calls B, B calls A', [person, agent('a'), agent('b')], 'a', true],
    ['a person speaks in between', [person, agent('a'), agent('b'), person], 'a', false],
    ['a person speaks in another thread', [agent('a'), agent('b'), { thread: 't2', by: 'person' }], 'a', true],
    ['it went round in another thread', [agent('a', 't2'), agent('b', 't2')], 'a', false],
  ])('%s', (_what, visits, next, isLoop) => {
    expect(findAgentLoopFault(visits, 't1', next)).toBe(isLoop ? 'gw:agent_loop' : undefined)
  })
})
