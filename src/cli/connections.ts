// `parley connections list`: how each connection stands with its platform, and when something last came and went there.
import type { ConnectionLine } from '../api/connections.ts'
import type { Group } from './command.ts'
import { operatorCommand } from './operator.ts'
import { formatTable } from './output.ts'

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
