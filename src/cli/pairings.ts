// `parley pairings`: people the gateway does not know, who were given a code and wait.
import type { PairingGroup, PairingLine } from '../db/pairings.ts'
import type { Group } from './command.ts'
import { operatorCommand } from './operator.ts'
import { formatInstant, formatTable, printableLine } from './output.ts'
import { idPageArgs, idPageQuery, pageFooter } from './paging.ts'

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
