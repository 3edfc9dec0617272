// `parley approvals` and `parley tool-requests`: what agents want to do and may not without a person, and tools that a client
// runs.
import { approverWords } from '../agents/approvals/terms.ts'
import type { ActionLine } from '../db/pending-actions.ts'
import type { ToolRequestLine } from '../db/tool-requests.ts'
import { wrongUsage } from './command-error.ts'
import type { Group } from './command-line.ts'
import { idPageArgs, idPageQuery, pageFooter } from './flags.ts'
import { operatorCommand } from './operator-command.ts'
import { formatInstant, formatTable, printableLine } from './output.ts'

const approvalArg = {
  id: { type: 'positional', required: true, description: 'Id of an action, as the list shows it' },
} as const
const example = '0192f1c2-7d5e-7abc-8def-0123456789ab'

type ActionPage = { readonly actions: readonly ActionLine[]; readonly next: string | null }
type Resolved = { readonly action: ActionLine; readonly duplicate: boolean }

const approvalsListCommand = operatorCommand({
  name: 'list',
  description: 'List actions that wait for an approval, newest first.',
  examples: ['parley approvals list', 'parley approvals list --status accepted --json'],
  args: {
    status: {
      type: 'enum',
      options: ['pending', 'accepted', 'rejected', 'expired', 'deleted', 'all'],
      default: 'pending',
      description: 'What became of them',
    },
    ...idPageArgs,
  },
  before: (args) => void idPageQuery(args, {}),
  async run({ args, callGateway, show }) {
    const status = args.status === 'all' ? undefined : (args.status ?? 'pending')
    const page = await callGateway<ActionPage>('GET', `/admin/approvals?${idPageQuery(args, { status })}`)
    const lines = formatTable(page.actions, [
      { title: 'ID', cell: (line) => line.action_id },
      { title: 'STATUS', cell: (line) => line.status },
      { title: 'AGENT', cell: (line) => line.agent },
      { title: 'FOR', cell: (line) => line.creator },
      {
        title: 'MAY DECIDE',
        cell: (line) => (typeof line.resolvers === 'object' ? approverWords(line.resolvers) : line.resolvers),
      },
      { title: 'EXPIRES', cell: (line) => formatInstant(line.expires_at) },
      { title: 'WHAT', cell: (line) => line.summary },
    ])
    const more = pageFooter(page.next, `parley approvals list --status ${args.status ?? 'pending'}`)
    show(page, page.actions.length === 0 ? 'Nothing there.' : `${lines}${more}`)
  },
})

const approvalsShowCommand = operatorCommand({
  name: 'show',
  description: 'Show one action: what would happen, for whom, until when, and what became of it.',
  examples: [`parley approvals show ${example}`],
  args: approvalArg,
  async run({ args, callGateway, show }) {
    const answer = await callGateway<{ action: ActionLine }>('GET', `/admin/approvals/${encodeURIComponent(args.id)}`)
    const lines = Object.entries(answer.action).map(
      ([name, value]) =>
        `${name.padEnd(20)} ${printableLine(typeof value === 'string' ? value : JSON.stringify(value ?? null))}`,
    )
    show(answer, lines.join('\n'))
  },
})

const reasonArg = { reason: { type: 'string', description: 'Told to the agent', valueHint: 'text' } } as const
const hashArg = {
  hash: { type: 'string', description: 'Decide only if the action still has this hash', valueHint: 'hash' },
} as const

function decisionCommand(name: 'accept' | 'reject', description: string) {
  const decision = name === 'accept' ? 'accepted' : 'rejected'
  return operatorCommand({
    name,
    description,
    examples: [`parley approvals ${name} ${example}`],
    args: { ...approvalArg, ...hashArg, ...reasonArg },
    async run({ args, callGateway, show, isOffline }) {
      const path = `/admin/approvals/${encodeURIComponent(args.id)}/resolve`
      const { hash, reason } = args
      const body = { decision, ...(hash === undefined ? {} : { hash }), ...(reason === undefined ? {} : { reason }) }
      const answer = await callGateway<Resolved>('POST', path, { body })
      show(answer, decidedApprovalText(answer, isOffline))
    },
  })
}

const deleteCommand = operatorCommand({
  name: 'delete',
  description: 'Withdraw an action: it does not happen, and the agent is told.',
  examples: [`parley approvals delete ${example}`],
  args: approvalArg,
  async run({ args, callGateway, show, isOffline }) {
    const answer = await callGateway<Resolved>('DELETE', `/admin/approvals/${encodeURIComponent(args.id)}`)
    show(answer, decidedApprovalText(answer, isOffline))
  },
})

function decidedApprovalText({ action, duplicate }: Resolved, isOffline: boolean): string {
  const words = printableLine(`${action.status}: ${action.summary}`)
  if (duplicate) return `${words} (decided before; nothing happens a second time)`
  return isOffline ? `${words}; a gateway goes on with it when it starts` : words
}

export const approvalsCommands: Group = {
  name: 'approvals',
  description: 'What agents want to do and may not without a person.',
  examples: ['parley approvals list', `parley approvals accept ${example}`],
  commands: [
    approvalsListCommand,
    approvalsShowCommand,
    decisionCommand('accept', 'Let it happen.'),
    decisionCommand('reject', 'Refuse it; the agent is told.'),
    deleteCommand,
  ],
}

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
