// The figures for people: one table per number of connections, then the aims.

import type { Spread } from './statistics.ts'
import type { Summary, Verdict } from './summary.ts'

const columns: readonly { readonly title: string; readonly cell: (summary: Summary) => string }[] = [
  { title: 'subject', cell: ({ subject }) => subject },
  { title: 'CPU µs/request', cell: ({ cpuMicrosPerRequest }) => spread(cpuMicrosPerRequest, 0) },
  { title: 'times floor', cell: ({ timesFloor }) => (timesFloor === null ? '-' : spread(timesFloor, 2)) },
  { title: 'requests/s', cell: ({ perSecond }) => spread(perSecond, 0) },
  { title: 'p50 ms', cell: ({ p50Ms }) => p50Ms.toFixed(2) },
  { title: 'p99 ms', cell: ({ p99Ms }) => p99Ms.toFixed(1) },
  { title: 'statements/event', cell: ({ statementsPerEvent }) => statementsPerEvent.toFixed(3) },
  { title: 'sends/event', cell: ({ sendsPerEvent }) => (sendsPerEvent === 0 ? '-' : sendsPerEvent.toFixed(2)) },
  {
    title: 'PostgreSQL µs',
    cell: ({ databaseCpuMicrosPerRequest: cpu }) => (cpu === null ? '-' : cpu.toFixed(0)),
  },
  { title: 'RSS MB', cell: ({ rssMb }) => rssMb.toFixed(0) },
]

export function tableOf(summaries: readonly Summary[], connections: number): string {
  const rows = summaries.filter((each) => each.connections === connections)
  const cells = [columns.map(({ title }) => title), ...rows.map((row) => columns.map(({ cell }) => cell(row)))]
  const widths = columns.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  const lines = cells.map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`)
  lines.splice(1, 0, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`)
  const heading = `${connections} ${connections === 1 ? 'connection' : 'connections'}; median (lowest - highest) of the rounds`
  return [heading, '', ...lines].join('\n')
}

export function verdictLine({ subject, measure, value, aim, isMet }: Verdict): string {
  return `${isMet ? 'met   ' : 'MISSED'} ${subject}: ${measure} ${value.toFixed(2)}, aim at most ${aim}`
}

function spread({ median, min, max }: Spread, digits: number): string {
  return `${median.toFixed(digits)} (${min.toFixed(digits)} - ${max.toFixed(digits)})`
}
