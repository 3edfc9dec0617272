// `parley connections`, `parley agents` and `parley stats`: what a gateway has and how it is.

import type * as z from 'zod'
import type { agents as agentsResource, connections as connectionsResource } from '../api/connections.ts'
import type { BooksLine } from '../db/receipts.ts'
import type { Group } from './command-line.ts'
import { operatorCommand } from './operator-command.ts'
import { formatTable } from './output.ts'

type AgentView = z.infer<NonNullable<typeof agentsResource.operations.list.output>>['agents'][number]
type ConnectionLine = z.infer<NonNullable<typeof connectionsResource.operations.list.output>>['connections'][number]

const connectionsListCommand = operatorCommand({
  name: 'list',
  description: 'Show how each connection stands, since when, and what to do where something is wrong.',
  examples: [
    'parley connections list',
    'parley connections list --json | jq \'.connections[] | select(.state != "ok")\'',
  ],
  args: {},
  async run({ callGateway, show, isOffline }) {
    const { connections } = await callGateway<{ connections: readonly ConnectionLine[] }>('GET', '/admin/connections')
    const lines = formatTable(connections, [
      { title: 'CONNECTION', cell: (line) => line.connection },
      { title: 'AGENT', cell: (line) => line.agent },
      { title: 'ACCESS', cell: (line) => line.access },
      { title: 'STATE', cell: (line) => line.state ?? (isOffline ? 'not running' : 'unknown') },
      {
        title: 'FOR',
        cell: (line) =>
          line.since === undefined ? null : secondsAgoText((Date.now() - Date.parse(line.since)) / 1000),
      },
      { title: 'LAST IN', cell: (line) => secondsAgoText(line.lastInboundAge) },
      { title: 'LAST OUT', cell: (line) => secondsAgoText(line.lastOutboundAge) },
      { title: 'WAITING', cell: (line) => line.waiting },
      { title: 'ABOUT', cell: connectionNote },
    ])
    show({ connections }, lines)
  },
})

function connectionNote({ summary, problem, remedy }: ConnectionLine): string | null {
  const words = [
    ...(problem === undefined ? [] : [`${problem}; ${remedy}`]),
    ...(summary === undefined ? [] : [summary]),
  ]
  return words.length === 0 ? null : words.join(' - ')
}

function secondsAgoText(seconds: number | null): string | null {
  if (seconds === null) return null
  const whole = Math.max(0, Math.round(seconds))
  if (whole < 120) return `${whole} s`
  if (whole < 7200) return `${Math.round(whole / 60)} min`
  return whole < 172_800 ? `${Math.round(whole / 3600)} h` : `${Math.round(whole / 86_400)} d`
}

export const connectionsCommands: Group = {
  name: 'connections',
  description: 'See how connections stand with their platforms.',
  examples: ['parley connections list'],
  commands: [connectionsListCommand],
}

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

export const statsCommand = operatorCommand({
  name: 'stats',
  description: 'Show per connection: received = answered + merged + refused + dead + in flight.',
  examples: ['parley stats', "parley stats --json | jq '.stats[] | select(.dead > 0)'"],
  args: {},
  async run({ callGateway, show }) {
    const { stats } = await callGateway<{ stats: readonly BooksLine[] }>('GET', '/admin/stats')
    const lines = formatTable(stats, [
      { title: 'CONNECTION', cell: (line) => line.connection },
      { title: 'RECEIVED', cell: (line) => line.received },
      { title: 'ANSWERED', cell: (line) => line.answered },
      { title: 'MERGED', cell: (line) => line.merged },
      { title: 'REFUSED', cell: (line) => line.refused },
      { title: 'DEAD', cell: (line) => line.dead },
      { title: 'IN FLIGHT', cell: (line) => line.inFlight },
      { title: 'IGNORED', cell: (line) => line.ignored },
      { title: 'DUPLICATES', cell: (line) => line.duplicates },
      { title: 'BALANCE', cell: (line) => (isBalanced(line) ? 'ok' : 'BROKEN') },
    ])
    show({ stats }, stats.length === 0 ? 'Nothing has been received yet.' : lines)
  },
})

function isBalanced({ received, answered, merged, refused, dead, inFlight }: BooksLine): boolean {
  return received === answered + merged + refused + dead + inFlight
}
