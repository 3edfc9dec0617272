// Chains of agents, and what of a stream a run's log shows.
import { validateMessage } from '../../../src/contract/validate-message.ts'
import { describeCallChainForAgent, findAgentLoopFault, nextAgentChain } from '../../../src/identity/call-chain.ts'
import { aMessage } from '../../doubles/inbox-drafts.ts'
import { call, deskOf, looped } from '../../doubles/scripted-loop.ts'
import type { Case } from '../conform.ts'

const chained = (agent_chain: object) =>
  validateMessage(
    { ...aMessage(), recipient_capabilities: { mention_relay: { kind: 'none' }, agent_chain } },
    { from: 'storage' },
  )

export const chainCases: readonly Case[] = [
  {
    id: 'CH-01',
    claim: 'after the final hop there is none, and the agent is told',
    run: () => {
      const last = { hop: 4, max_hops: 4, is_final: true }
      return [nextAgentChain(last), describeCallChainForAgent(last)?.includes('final')]
    },
    equals: [{ ok: false, code: 'gw:hop_limit' }, true],
  },
  {
    id: 'CH-02',
    claim: 'a chain that calls hop 2 of 4 its last is refused',
    run: () => chained({ hop: 2, max_hops: 4, is_final: true }),
    expected: { ok: false, code: 'NM_CHAIN_INVALID' },
  },
  {
    id: 'CH-03',
    claim: 'a longer limit from outside is cut to ours',
    run: () => nextAgentChain({ hop: 1, max_hops: 10, is_final: false }),
    expected: { ok: true, chain: { max_hops: 4 } },
  },
  {
    id: 'CH-04',
    claim: 'A calls B calls A, and nobody spoke in between',
    run: () => {
      const agent = (name: string) => ({ thread: 't1', by: 'agent', agent: name }) as const
      return findAgentLoopFault([{ thread: 't1', by: 'person' }, agent('a'), agent('b')], 't1', 'a')
    },
    equals: 'gw:agent_loop',
  },
  {
    id: 'ST-01',
    claim: 'a call and its result are told under one id: one item',
    run: async () => {
      const { events } = await looped([{ tool_calls: [call('demo/search', {}, 'c1')] }, { content: 'found' }], {
        tools: deskOf({ 'demo/search': () => 'a result' }),
        maxTurns: 3,
      })
      const told = events.filter(([name]) => name === 'tool_call' || name === 'tool_result')
      return told.map(([name, payload]) => [name, payload['tool_call_id']])
    },
    equals: [
      ['tool_call', 'c1'],
      ['tool_result', 'c1'],
    ],
  },
  {
    id: 'ST-04',
    claim: 'words that look like a call stay words',
    run: async () => {
      const { result, events } = await looped([{ content: 'calling search(...)' }], {
        tools: deskOf({ 'demo/search': () => 'a result' }),
      })
      return [result.final_content, events.filter(([name]) => name.startsWith('tool_'))]
    },
    equals: ['calling search(...)', []],
  },
]
