// `parley principals` and `parley pairings`: people a decision was made about, which of them are one person, and strangers who
// wait with a code.

import type { PairingGroup, PairingLine } from '../db/pairings.ts'
import type { LinkLine, PrincipalLine } from '../db/principals.ts'
import type { Group } from './command-line.ts'
import { idPageArgs, idPageQuery, pageFooter } from './flags.ts'
import { operatorCommand } from './operator-command.ts'
import { formatInstant, formatTable, printableLine } from './output.ts'

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

type PairingPage = {
  readonly pairings: readonly PairingLine[]
  readonly next: string | null
  readonly groups: readonly PairingGroup[]
}
type DecidedPairing = { readonly pairing: PairingLine; readonly messages: number }

const pairingExample = 'BCDF-2345'
const codeArg = {
  code: { type: 'positional', required: true, description: 'The code they were given; dash and case do not matter' },
} as const

const pairingsListCommand = operatorCommand({
  name: 'list',
  description: 'List people who wait to be let in, newest first.',
  examples: ['parley pairings list', 'parley pairings list --status all --json'],
  args: {
    status: {
      type: 'enum',
      options: ['pending', 'approved', 'rejected', 'expired', 'all'],
      default: 'pending',
      description: 'What became of them; all: those that wait come first',
    },
    ...idPageArgs,
  },
  before: (args) => void idPageQuery(args, {}),
  async run({ args, callGateway, show }) {
    const status = args.status === 'all' ? undefined : (args.status ?? 'pending')
    const page = await callGateway<PairingPage>('GET', `/admin/pairings?${idPageQuery(args, { status })}`)
    const lines = formatTable(page.pairings, [
      { title: 'CODE', cell: (line) => line.code },
      { title: 'STATUS', cell: (line) => line.status },
      { title: 'WHO', cell: (line) => line.subject },
      { title: 'GOES BY', cell: (line) => line.shownName },
      { title: 'CONNECTION', cell: (line) => line.connection },
      { title: 'AGENT', cell: (line) => line.agent },
      { title: 'HELD', cell: (line) => line.held },
      { title: 'EXPIRES', cell: (line) => formatInstant(line.expiresAt) },
      { title: 'DECIDED BY', cell: (line) => line.decidedBy },
    ])
    const more = pageFooter(page.next, `parley pairings list --status ${args.status ?? 'pending'}`)
    const digest = page.groups.map((group) => `${pairingGroupText(group)}\n`).join('')
    show(page, page.pairings.length === 0 ? `${digest}No pairings.` : `${digest}${lines}${more}`)
  },
})

const approveCommand = operatorCommand({
  name: 'approve',
  description: 'Let the sender in; what they wrote meanwhile is answered.',
  examples: [`parley pairings approve ${pairingExample}`],
  args: codeArg,
  async run({ args, callGateway, show, isOffline }) {
    const answer = await callGateway<DecidedPairing>('POST', `/admin/pairings/${encodeURIComponent(args.code)}/approve`)
    const when = isOffline ? 'when a gateway starts' : 'now'
    show(answer, `Let in: ${pairingPersonText(answer)}. ${messageCountText(answer.messages)} answered ${when}.`)
  },
})

const rejectCommand = operatorCommand({
  name: 'reject',
  description: 'Turn the sender away; what they wrote is not answered, and they are not told.',
  examples: [`parley pairings reject ${pairingExample}`, `parley pairings reject ${pairingExample} --block`],
  args: {
    ...codeArg,
    block: { type: 'boolean', description: 'Refuse whatever else they write there; undone with parley grants unblock' },
  },
  async run({ args, callGateway, show }) {
    const path = `/admin/pairings/${encodeURIComponent(args.code)}/reject`
    const answer = await callGateway<DecidedPairing>('POST', path, { body: { block: args.block === true } })
    const blocked =
      args.block === true ? ' They are blocked.' : ' Should they write again in an hour or later, they get a new code.'
    show(answer, `Turned away: ${pairingPersonText(answer)}. ${messageCountText(answer.messages)} refused.${blocked}`)
  },
})

/** A flood is one line, however many came. */
function pairingGroupText({ connection, group, people, notTaken }: PairingGroup): string {
  const who = `${people} ${people === 1 ? 'person' : 'people'}${group === null ? '' : ` of ${group}`}`
  const wait = `${who} ${people === 1 ? 'waits' : 'wait'} on ${connection}`
  const more = notTaken === 0 ? '' : `; ${notTaken} more ${notTaken === 1 ? 'message was' : 'messages were'} not taken`
  return printableLine(`${wait}${more}.`)
}

function pairingPersonText({ pairing }: DecidedPairing): string {
  const { subject, shownName, connection } = pairing
  return printableLine(`${subject}${shownName === null ? '' : ` ("${shownName}")`} on ${connection}`)
}

function messageCountText(count: number): string {
  return count === 1 ? '1 message is' : `${count} messages are`
}

export const pairingsCommands: Group = {
  name: 'pairings',
  description: 'People the gateway does not know yet, who wait to be let in.',
  examples: ['parley pairings list', `parley pairings approve ${pairingExample}`],
  commands: [pairingsListCommand, approveCommand, rejectCommand],
}
