// `parley agents`: who answers, under which address, and where.
import type { AgentView } from '../api/agents.ts'
import { operatorCommand } from './operator.ts'
import { formatTable } from './output.ts'

export const agentsCommand = operatorCommand({
  name: 'agents',
  description: 'Show the agents: their addresses, and on which connections they answer (own, default, mention).',
  examples: ['parley agents', "parley agents --json | jq '.agents[] | select(.connections == [])'"],
  args: {},
  async run({ callGateway, show }) {
    const { agents } = await callGateway<{ agents: readonly AgentView[] }>('GET', '/admin/agents')
    const lines = formatTable(agents, [
      { title: 'AGENT', cell: (agent) => agent.slug },
      { title: 'ADDRESS', cell: (agent) => agent.address },
      {
        title: 'ANSWERS ON',
        cell: ({ connections }) => connections.map(({ connection, by }) => `${connection} (${by})`).join(', ') || '-',
      },
      { title: 'DESCRIPTION', cell: (agent) => agent.description || agent.label },
    ])
    show({ agents }, lines)
  },
})
