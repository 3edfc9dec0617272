// `parley tool-requests`: tools that a client outside the gateway runs, and their answers.
import type { ToolRequestLine } from '../db/tool-requests.ts'
import type { Group } from './command.ts'
import { wrongUsage } from './exit.ts'
import { operatorCommand } from './operator.ts'
import { formatInstant, formatTable, printableLine } from './output.ts'
import { idPageArgs, idPageQuery, pageFooter } from './paging.ts'

const toolRequestArg = {
  id: { type: 'positional', required: true, description: 'Id or request id, as the list shows it' },
} as const
const toolRequestExample = '0192f1c2-7d5e-7abc-8def-0123456789ab'

type RequestPage = { readonly requests: readonly ToolRequestLine[]; readonly next: string | null }
type Answered = { readonly request: ToolRequestLine; readonly duplicate: boolean }

const toolRequestsListCommand = operatorCommand({
  name: 'list',
  description: 'List calls of tools that run elsewhere, newest first.',
  examples: ['parley tool-requests list', 'parley tool-requests list --status completed --json'],
  args: {
    status: {
      type: 'enum',
      options: ['pending', 'completed', 'timeout', 'all'],
      default: 'pending',
      description: 'What became of them',
    },
    ...idPageArgs,
  },
  before: (args) => void idPageQuery(args, {}),
  async run({ args, callGateway, show }) {
    const wanted = args.status ?? 'pending'
    const status = wanted === 'all' ? undefined : `runtime_tool_${wanted}`
    const page = await callGateway<RequestPage>('GET', `/admin/tool-requests?${idPageQuery(args, { status })}`)
    const lines = formatTable(page.requests, [
      { title: 'ID', cell: (line) => line.id },
      { title: 'STATUS', cell: (line) => line.status.replace('runtime_tool_', '') },
      { title: 'TOOL', cell: (line) => line.tool_name },
      { title: 'AGENT', cell: (line) => line.agent },
      { title: 'FOR', cell: (line) => line.owner },
      { title: 'TIMEOUT', cell: (line) => formatInstant(line.timeout_at) },
    ])
    const more = pageFooter(page.next, `parley tool-requests list --status ${wanted}`)
    show(page, page.requests.length === 0 ? 'Nothing there.' : `${lines}${more}`)
  },
})

const toolRequestsShowCommand = operatorCommand({
  name: 'show',
  description: 'Show one call with its parameters, as the client that runs it needs them.',
  examples: [`parley tool-requests show ${toolRequestExample}`],
  args: toolRequestArg,
  async run({ args, callGateway, show }) {
    const path = `/admin/tool-requests/${encodeURIComponent(args.id)}`
    const answer = await callGateway<{ request: ToolRequestLine; parameters: unknown }>('GET', path)
    const facts = { ...answer.request, parameters: answer.parameters }
    const lines = Object.entries(facts).map(
      ([name, value]) =>
        `${name.padEnd(16)} ${printableLine(typeof value === 'string' ? value : JSON.stringify(value ?? null))}`,
    )
    show(answer, lines.join('\n'))
  },
})

const submitCommand = operatorCommand({
  name: 'submit',
  description: 'Answer a call with what the tool came to; the run goes on.',
  examples: [
    `parley tool-requests submit ${toolRequestExample} --result '{"opened":true}'`,
    `parley tool-requests submit ${toolRequestExample} --error "the window was closed"`,
  ],
  args: {
    ...toolRequestArg,
    result: { type: 'string', description: 'What it came to', valueHint: 'json' },
    error: { type: 'string', description: 'Why it failed, in words for the model', valueHint: 'text' },
  },
  before: (args) => void toolResultBody(args),
  async run({ args, callGateway, show }) {
    const path = `/admin/tool-requests/${encodeURIComponent(args.id)}/submit`
    const answer = await callGateway<Answered>('POST', path, { body: toolResultBody(args) })
    show(answer, answer.duplicate ? 'It was answered before; the first answer stays.' : 'Answered; the run goes on.')
  },
})

const cancelCommand = operatorCommand({
  name: 'cancel',
  description: 'End the wait without an answer; the agent is told.',
  examples: [`parley tool-requests cancel ${toolRequestExample}`],
  args: toolRequestArg,
  async run({ args, callGateway, show }) {
    const answer = await callGateway<Answered>('POST', `/admin/tool-requests/${encodeURIComponent(args.id)}/cancel`)
    show(answer, answer.duplicate ? 'It was over before; nothing changed.' : 'Cancelled; the agent is told.')
  },
})

export const toolRequestsCommands: Group = {
  name: 'tool-requests',
  description: 'Tools that a client outside the gateway runs.',
  examples: ['parley tool-requests list', `parley tool-requests submit ${toolRequestExample} --result '{"ok":true}'`],
  commands: [toolRequestsListCommand, toolRequestsShowCommand, submitCommand, cancelCommand],
}

function toolResultBody({
  result,
  error,
}: {
  readonly result?: string | undefined
  readonly error?: string | undefined
}): object {
  if ((result === undefined) === (error === undefined)) throw wrongUsage('give either --result or --error')
  if (error !== undefined) return { error }
  try {
    return { result: JSON.parse(result ?? '') as unknown }
  } catch {
    throw wrongUsage('--result must be JSON, such as {"ok":true} or "text"')
  }
}
