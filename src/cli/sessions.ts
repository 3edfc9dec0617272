// `parley sessions`: transcripts by conversation, and operator takeover. With a token of one's own: one's own only.
import type { SessionLine } from '../db/sessions.ts'
import { wrongUsage } from './command-error.ts'
import type { Group } from './command-line.ts'
import { confirmOrAbort, yesArg } from './flags.ts'
import { type CallGateway, operatorCommand } from './operator-command.ts'
import { formatInstant, formatTable, printableLine } from './output.ts'

// `parley sessions export | take-over | give-back | say`: acts that need consent or change who answers.

const sessionExample = '0192f1c2-7d5e-7abc-8def-0123456789ab'
const deskSessionArg = {
  id: { type: 'positional', required: true, description: 'Id of a session, as the list shows it' },
} as const

const exportCommand = operatorCommand({
  name: 'export',
  description: 'Print the whole transcript to hand it on; needs the consent of those who take part.',
  examples: [
    `parley sessions export ${sessionExample}`,
    `parley sessions export ${sessionExample} --json > transcript.json`,
  ],
  args: deskSessionArg,
  async run({ args, callGateway, show }) {
    const path = `/admin/sessions/${encodeURIComponent(args.id)}/export`
    if (args.json === true) return show(await callGateway('POST', path), '')
    const { markdown } = await callGateway<{ session: SessionLine; markdown: string }>(
      'POST',
      `${path}?format=markdown`,
    )
    show({}, markdown)
  },
})

const takeOverCommand = operatorCommand({
  name: 'take-over',
  description: 'Answer in a session yourself; what arrives waits. Needs the consent of those who take part.',
  examples: [`parley sessions take-over ${sessionExample}`],
  args: deskSessionArg,
  async run({ args, callGateway, show }) {
    await postToSession(callGateway, args.id, 'take-over')
    const next = `say something with: parley sessions say ${args.id} "…", and end it with: parley sessions give-back ${args.id}`
    show({ ok: true, id: args.id }, `Taken over, and the sender is told; ${next}`)
  },
})

const giveBackCommand = operatorCommand({
  name: 'give-back',
  description: 'Let the agent answer again; what has arrived meanwhile is answered now.',
  examples: [`parley sessions give-back ${sessionExample}`],
  args: deskSessionArg,
  async run({ args, callGateway, show }) {
    await postToSession(callGateway, args.id, 'give-back')
    show({ ok: true, id: args.id }, 'Given back, and the sender is told.')
  },
})

const sayCommand = operatorCommand({
  name: 'say',
  description: 'Say something in a session that was taken over.',
  examples: [`parley sessions say ${sessionExample} "I have looked into it: your parcel arrives on Monday."`],
  args: { ...deskSessionArg, text: { type: 'positional', required: true, description: 'Up to 10000 characters' } },
  async run({ args, callGateway, show, isOffline }) {
    await postToSession(callGateway, args.id, 'say', { text: args.text })
    show({ ok: true, id: args.id }, isOffline ? 'Stored; a gateway sends it when it starts.' : 'On its way.')
  },
})

function postToSession(callGateway: CallGateway, id: string, act: string, body?: object): Promise<unknown> {
  return callGateway('POST', `/admin/sessions/${encodeURIComponent(id)}/${act}`, body === undefined ? {} : { body })
}

const idArg = {
  id: { type: 'positional', required: true, description: 'Id of a session, as the list shows it' },
} as const
const limitArg = {
  limit: { type: 'string', default: '50', description: 'Lines per page, 1 to 100', valueHint: 'number' },
} as const

type SessionPage = { readonly sessions: readonly SessionLine[]; readonly next: string | null }
type ShownLine = {
  readonly seq: number
  readonly type: string
  readonly role: string
  readonly content: unknown
  readonly created_at?: string
}
type ShownSession = {
  readonly session: SessionLine
  readonly messages: readonly ShownLine[]
  readonly next: number | null
}

const sessionsListCommand = operatorCommand({
  name: 'list',
  description: 'List sessions, newest first.',
  examples: ['parley sessions list', 'parley sessions list --agent demo --limit 100 --json'],
  args: {
    ...limitArg,
    before: { type: 'string', description: 'Where the page before this one ended', valueHint: 'id' },
    agent: { type: 'string', description: 'Only those of this agent', valueHint: 'slug' },
    owner: { type: 'string', description: 'Only those of this subject', valueHint: 'subject' },
  },
  before: ({ limit }) => void checkLimit(limit),
  async run({ args, callGateway, show }) {
    const query = sessionsQuery({
      limit: checkLimit(args.limit),
      before: args.before,
      agent: args.agent,
      owner: args.owner,
    })
    const page = await callGateway<SessionPage>('GET', `/admin/sessions?${query}`)
    const lines = formatTable(page.sessions, [
      { title: 'ID', cell: (line) => line.id },
      { title: 'CONNECTION', cell: (line) => line.connection },
      { title: 'AGENT', cell: (line) => line.agent },
      { title: 'OWNER', cell: (line) => line.owner },
      { title: 'STATUS', cell: (line) => line.status },
      { title: 'LINES', cell: (line) => line.lines },
      { title: 'LAST ACTIVITY', cell: (line) => formatInstant(line.lastActivityAt) },
      { title: 'TITLE', cell: (line) => line.title },
    ])
    const more = page.next === null ? '' : `\n\nMore: parley sessions list --before ${page.next}`
    show(page, page.sessions.length === 0 ? 'No sessions.' : `${lines}${more}`)
  },
})

const showCommand = operatorCommand({
  name: 'show',
  description: 'Show a session with the last lines of its transcript.',
  examples: [
    'parley sessions show 0192f1c2-7d5e-7abc-8def-0123456789ab',
    'parley sessions show 0192f1c2-7d5e-7abc-8def-0123456789ab --before 120 --json',
  ],
  args: {
    ...idArg,
    ...limitArg,
    before: {
      type: 'string',
      description: 'Number of the line where the page before this one began',
      valueHint: 'number',
    },
  },
  before: ({ limit }) => void checkLimit(limit),
  async run({ args, callGateway, show }) {
    const query = sessionsQuery({ limit: checkLimit(args.limit), before: args.before })
    const shown = await callGateway<ShownSession>('GET', `/admin/sessions/${encodeURIComponent(args.id)}?${query}`)
    const { metadata: _, ...facts } = shown.session
    const about = Object.entries(facts).map(
      ([name, value]) => `${name.padEnd(14)} ${printableLine(String(value ?? '-'))}`,
    )
    const lines = shown.messages.map(({ seq, role, type, content }) => {
      const text = typeof content === 'string' ? content : JSON.stringify(content)
      return printableLine(`${String(seq).padStart(5)}  ${role}${type === 'text' ? '' : ` (${type})`}: ${text}`)
    })
    const more = shown.next === null ? [] : ['', `Earlier: parley sessions show ${args.id} --before ${shown.next}`]
    show(shown, [...about, '', ...lines, ...more].join('\n'))
  },
})

const renameCommand = operatorCommand({
  name: 'rename',
  description: 'Give a session a title.',
  examples: ['parley sessions rename 0192f1c2-7d5e-7abc-8def-0123456789ab "Trip to Lisbon"'],
  args: { ...idArg, title: { type: 'positional', required: true, description: 'Up to 200 characters' } },
  async run({ args, callGateway, show }) {
    const path = `/admin/sessions/${encodeURIComponent(args.id)}/title`
    const { title } = await callGateway<{ title: string }>('POST', path, { body: { title: args.title } })
    show({ ok: true, id: args.id, title }, 'Renamed.')
  },
})

const deleteCommand = operatorCommand({
  name: 'delete',
  description: 'Erase what was said in a session; its receipts and numbers stay, the next message begins a new one.',
  examples: ['parley sessions delete 0192f1c2-7d5e-7abc-8def-0123456789ab --yes'],
  args: { ...idArg, ...yesArg },
  before: (args) => confirmOrAbort(`Erase session ${args.id} for good?`, args.yes),
  async run({ args, callGateway, show }) {
    await callGateway('DELETE', `/admin/sessions/${encodeURIComponent(args.id)}`)
    show({ ok: true, id: args.id }, 'Deleted.')
  },
})

export const sessionsCommands: Group = {
  name: 'sessions',
  description: 'Conversations and what was said in them.',
  examples: ['parley sessions list', 'parley sessions show 0192f1c2-7d5e-7abc-8def-0123456789ab'],
  commands: [
    sessionsListCommand,
    showCommand,
    renameCommand,
    deleteCommand,
    exportCommand,
    takeOverCommand,
    sayCommand,
    giveBackCommand,
  ],
}

function checkLimit(text: string | undefined): string {
  const given = text ?? '50'
  if (/^\d+$/.test(given) && Number(given) >= 1 && Number(given) <= 100) return given
  throw wrongUsage('--limit must be a whole number from 1 to 100')
}

function sessionsQuery(fields: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) query.set(name, value)
  return query.toString()
}
