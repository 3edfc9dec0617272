// `parley dead`: dead letters, messages that ended without an answer, and their retry.
import type { EndedMessage, PastEffect } from '../db/receipts.ts'
import type { Group } from './command.ts'
import { type CallGateway, operatorCommand } from './operator.ts'
import { formatInstant, formatTable } from './output.ts'
import { buildPageQuery, pageArgs, pageFooter } from './paging.ts'

const deadLettersListCommand = operatorCommand({
  name: 'list',
  description: 'List messages whose turn died or that could not be read, newest first.',
  examples: ['parley dead list', 'parley dead list --state refused --limit 200 --json'],
  args: {
    state: {
      type: 'enum',
      options: ['dead', 'refused', 'ignored'],
      default: 'dead',
      description: 'refused: judged and left without an answer; ignored: asked for nothing',
    },
    ...pageArgs,
  },
  before: (args) => void buildPageQuery(args, {}),
  async run({ args, callGateway, show }) {
    const state = args.state ?? 'dead'
    const answer = await callGateway<{ readonly next: number | null } & Readonly<Record<string, unknown>>>(
      'GET',
      `/admin/${state}?${buildPageQuery(args, {})}`,
    )
    // The route names its list after the state.
    const messages = answer[state] as readonly EndedMessage[]
    const lines = formatTable(messages, [
      { title: 'ID', cell: (line) => line.id },
      { title: 'CONNECTION', cell: (line) => line.connection },
      { title: 'REASON', cell: (line) => line.reason },
      { title: 'FROM', cell: (line) => line.subject },
      { title: 'MESSAGE', cell: (line) => line.messageId },
      { title: 'TRIES', cell: (line) => line.attempts },
      { title: 'RECEIVED', cell: (line) => formatInstant(line.receivedAt) },
    ])
    const more = pageFooter(answer.next, `parley dead list --state ${state}`)
    show({ messages, next: answer.next }, messages.length === 0 ? `No ${state} messages.` : `${lines}${more}`)
  },
})

const resubmitCommand = operatorCommand({
  name: 'resubmit',
  description:
    'Queue a dead message again, with the others of its turn; what was done is not done again. What could not be read is read by this release.',
  examples: [
    'parley dead resubmit 0192f1c2-7d5e-7abc-8def-0123456789ab',
    'parley dead resubmit 0192f1c2-7d5e-7abc-8def-0123456789ab --anew --yes',
  ],
  args: {
    id: { type: 'positional', required: true, description: 'Id of a dead message, as the list shows it' },
    anew: {
      type: 'boolean',
      default: false,
      description: 'This message alone, as if nothing had been done for it; lists what may happen again',
    },
    yes: { type: 'boolean', default: false, description: 'With --anew: let it happen again' },
  },
  async run({ args, callGateway, show, isOffline }) {
    const path = `/admin/dead/${encodeURIComponent(args.id)}`
    const effects = args.anew ? await fetchPastEffects(callGateway, path) : []
    if (effects.length > 0 && !args.yes) {
      const lines = formatTable(effects, [
        { title: 'MAY HAPPEN AGAIN', cell: (line) => line.label },
        { title: 'STATE', cell: (line) => (line.state === 'finished' ? 'done' : 'unknown') },
      ])
      return show({ ok: false, id: args.id, effects }, `${lines}\nNothing was queued. Add --yes to run it anew.`)
    }
    await callGateway('POST', `${path}/resubmit${args.anew ? '?anew=true' : ''}`)
    const queued = isOffline ? 'Queued; a gateway takes it when it starts.' : 'Queued again.'
    show({ ok: true, id: args.id, effects }, queued)
  },
})

async function fetchPastEffects(callGateway: CallGateway, path: string): Promise<readonly PastEffect[]> {
  return (await callGateway<{ readonly effects: readonly PastEffect[] }>('GET', `${path}/effects`)).effects
}

export const deadLettersCommands: Group = {
  name: 'dead',
  description: 'Messages that ended without an answer.',
  examples: ['parley dead list', 'parley dead resubmit 0192f1c2-7d5e-7abc-8def-0123456789ab'],
  commands: [deadLettersListCommand, resubmitCommand],
}
