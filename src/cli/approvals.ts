// `parley approvals`: what agents want to do and may not without a person.

import { approverWords } from '../agents/approvals/terms.ts'
import type { ActionLine } from '../db/pending-actions.ts'
import type { Group } from './command.ts'
import { operatorCommand } from './operator.ts'
import { formatInstant, formatTable, printableLine } from './output.ts'
import { idPageArgs, idPageQuery, pageFooter } from './paging.ts'

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
