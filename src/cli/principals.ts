// `parley principals`: people a decision was made about, and which of them are one person.
import type { LinkLine, PrincipalLine } from '../db/principals.ts'
import type { Group } from './command.ts'
import { operatorCommand } from './operator.ts'
import { formatInstant, formatTable, printableLine } from './output.ts'
import { idPageArgs, idPageQuery, pageFooter } from './paging.ts'

type PrincipalPage = { readonly principals: readonly PrincipalLine[]; readonly next: string | null }
type Linked = { readonly link: LinkLine; readonly messages: number }

const subjectArg = {
  subject: { type: 'positional', required: true, description: 'One of their subjects, such as space:T1/U2' },
} as const
const [one, other] = ['space:T1/U2', 'chat:42']

const principalsListCommand = operatorCommand({
  name: 'list',
  description: 'List every person a decision was made about: the last one, grants, and whom they act as.',
  examples: ['parley principals list', 'parley principals list --json'],
  args: idPageArgs,
  before: (args) => void idPageQuery(args, {}),
  async run({ args, callGateway, show }) {
    const page = await callGateway<PrincipalPage>('GET', `/admin/principals?${idPageQuery(args, {})}`)
    const lines = formatTable(page.principals, [
      { title: 'WHO', cell: (line) => line.subject },
      { title: 'ACTS AS', cell: (line) => line.linkedTo },
      { title: 'GRANTS', cell: (line) => line.grants.map(shortGrantText).join(', ') || '-' },
      { title: 'LAST DECISION', cell: (line) => lastDecisionText(line.lastDecision) },
      { title: 'AT', cell: (line) => formatInstant(line.lastDecision?.at ?? null) },
      { title: 'ID', cell: (line) => line.id },
    ])
    const more = pageFooter(page.next, 'parley principals list')
    show(page, page.principals.length === 0 ? 'No people yet.' : `${lines}${more}`)
  },
})

const linkCommand = operatorCommand({
  name: 'link',
  description: 'Say that two subjects are one person: a sender verified as the first acts as the second.',
  examples: [`parley principals link ${one} ${other}`],
  args: {
    ...subjectArg,
    principal: { type: 'positional', required: true, description: 'The main subject of that person' },
  },
  async run({ args, callGateway, show }) {
    const body = { subject: args.subject, principal: args.principal }
    const answer = await callGateway<Linked>('POST', '/admin/principals/link', { body })
    const { subject, principal } = answer.link
    show(answer, `Linked: ${printableLine(subject)} acts as ${printableLine(principal)} from now on.`)
  },
})

const unlinkCommand = operatorCommand({
  name: 'unlink',
  description: 'Take a link back: from the next decision on they are two people again.',
  examples: [`parley principals unlink ${one}`],
  args: subjectArg,
  async run({ args, callGateway, show }) {
    await callGateway('POST', '/admin/principals/unlink', { body: { subject: args.subject } })
    show({ ok: true, subject: args.subject }, `Unlinked: ${printableLine(args.subject)}.`)
  },
})

function shortGrantText({ effect, role, connection, agent }: PrincipalLine['grants'][number]): string {
  const what = effect === 'deny' ? 'blocked' : (role ?? 'may speak')
  const where = [connection, agent].filter((each) => each !== null).join(' ')
  return where === '' ? what : `${what} (${where})`
}

function lastDecisionText(decision: PrincipalLine['lastDecision']): string | null {
  if (decision === null) return null
  const { action, outcome, code } = decision
  return `${action} ${outcome}${code === null ? '' : ` (${code})`}`
}

export const principalsCommands: Group = {
  name: 'principals',
  description: 'People a decision was made about, and which of them are one person.',
  examples: ['parley principals list', `parley principals link ${one} ${other}`],
  commands: [principalsListCommand, linkCommand, unlinkCommand],
}
