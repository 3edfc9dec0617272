// msg 17.13: chains of agents.

import { validateMessage } from '../../../src/contract/index.ts'
import { chainCue, loopFault, nextAgentChain } from '../../../src/identity/chain/agent-chain.ts'
import { aMessage } from '../../doubles/drafts.ts'
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
      return [nextAgentChain(last), chainCue(last)?.includes('final')]
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
      return loopFault([{ thread: 't1', by: 'person' }, agent('a'), agent('b')], 't1', 'a')
    },
    equals: 'gw:agent_loop',
  },
]
