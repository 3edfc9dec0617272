// `parley activitypub reports`: what other servers reported about agents.
import type { ChannelCommandGroup, JsonObject, OperatingCommand } from '../../../src/contract/index.ts'
import { doneResult, escapeControlChars, listResult, pickFlags } from './answers.ts'
import { pageFlags } from './people-commands.ts'

const exampleReportId = 'https://social.example/b3a1'
const reportIdFlag = {
  id: { type: 'positional', required: true, description: 'Id of a report, as the list shows it' },
} as const

const listReportsCommand: OperatingCommand = {
  name: 'list',
  description: 'List the reports that are open.',
  examples: ['parley activitypub reports list', 'parley activitypub reports list --closed'],
  flags: { ...pageFlags, closed: { type: 'boolean', description: 'Those that were closed instead' } },
  async operate(flags, desk) {
    const input = { ...pickFlags(flags, 'limit', 'after'), closed: flags['closed'] === true }
    const more = `parley activitypub reports list${input.closed ? ' --closed' : ''}`
    const columns = ['id', 'at', 'reporter', 'agents', 'complaint']
    return listResult(await desk.operate('reports.list', input), {
      name: 'reports',
      columns,
      none: 'No reports.',
      more,
    })
  },
}

const showReportCommand: OperatingCommand = {
  name: 'show',
  description: 'Show a report: who reported, which posts of yours, in which words, when.',
  examples: [`parley activitypub reports show ${exampleReportId}`],
  flags: reportIdFlag,
  async operate(flags, desk) {
    const { value } = await desk.operate('reports.show', pickFlags(flags, 'id'))
    return { value, text: reportDetails((value['report'] ?? {}) as JsonObject) }
  },
}

const closeReportCommand: OperatingCommand = {
  name: 'close',
  description: 'Close a report. It is kept among those that were closed, and the server that sent it is not told.',
  examples: [`parley activitypub reports close ${exampleReportId}`],
  flags: reportIdFlag,
  operate: async (flags, desk) =>
    doneResult(await desk.operate('reports.close', pickFlags(flags, 'id')), desk, 'Closed.'),
}

function reportDetails({ posts, agents, about: _, complaint, ...facts }: JsonObject): string {
  const names = (Array.isArray(agents) ? agents : []).map(String).join(', ')
  const lines = Object.entries({ ...facts, agents: names || null }).map(
    ([name, value]) => `${name.padEnd(10)} ${String(value ?? '-')}`,
  )
  const quoted = ((posts ?? []) as readonly JsonObject[]).flatMap(({ id, published, words }) => [
    '',
    `${String(id)}  ${String(published ?? '-')}`,
    `  ${String(words ?? '(not here any more)').replaceAll('\n', '\n  ')}`,
  ])
  return escapeControlChars([...lines, '', String(complaint || '(no words)'), ...quoted].join('\n'))
}

export const reportCommands: ChannelCommandGroup = {
  name: 'reports',
  description: 'What other servers reported about your agents.',
  examples: ['parley activitypub reports', `parley activitypub reports show ${exampleReportId}`],
  fallback: 'list',
  commands: [listReportsCommand, showReportCommand, closeReportCommand],
}
