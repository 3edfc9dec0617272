// Commands about messages that take more than one request: many deliveries sent again, and messages that ended without an answer.
import { deadLetters, deliveries } from '../api/messages.ts'
import { CommandError, exitCodes, usageError } from './command-error.ts'
import type { Group } from './command-line.ts'
import { confirmOrAbort, parseTimeFlag, yesArg } from './flags.ts'
import { operatorCommand } from './operator-command.ts'
import { formatInstant, formatTable } from './output.ts'

const connectionArg = {
  type: 'string',
  description: 'Only this one, as parley stats names it',
  valueHint: 'channel/id',
} as const

export const retryCommand = operatorCommand({
  name: 'retry',
  description:
    'Send a failed delivery again, or all of one state since a time; those whose outcome is unknown go out marked as possibly repeated.',
  examples: [
    'parley deliveries retry 0192f1c2-7d5e-7abc-8def-0123456789ab',
    'parley deliveries retry --state unknown --since 2h --connection chat/default',
    'parley deliveries retry --state unknown --since 2026-01-31T08:00:00Z --limit 500 --yes --json',
  ],
  args: {
    id: { type: 'positional', required: false, description: 'Id of a delivery, as the list shows it' },
    state: { type: 'string', description: 'Without an id: unknown, refused or dead', valueHint: 'state' },
    since: {
      type: 'string',
      description: 'Without an id: those that ended since then: 2026-01-31T08:00:00Z, or 45m, 12h, 30d ago',
      valueHint: 'time',
    },
    connection: connectionArg,
    limit: {
      type: 'string',
      description: 'How many at most, 1 to 500, the oldest first (default: 100)',
      valueHint: 'number',
    },
    ...yesArg,
  },
  before: (args) => void (args.id === undefined ? parseRetryFilter(args) : refuseFiltersBesideId(args)),
  async run({ args, ask, show, isOffline }) {
    const when = isOffline ? 'they are sent when a gateway starts' : 'they are sent now'
    if (args.id !== undefined) {
      await ask(deliveries.operations.retry, { id: args.id })
      const text = isOffline ? 'Queued; it is sent when a gateway starts.' : 'Queued to be sent again.'
      return show({ ok: true, id: args.id }, text)
    }
    const body = parseRetryFilter(args)
    const requestRetry = (dry_run: boolean) =>
      ask(deliveries.operations.retryMany, { ...body, dry_run }, { timeoutMs: 300_000 })
    const { matching } = await requestRetry(true)
    if (matching === 0)
      throw new CommandError(exitCodes.notFound, 'nothing_to_do', `no delivery is ${body.state} since ${body.since}`)
    const count = Math.min(matching, body.limit)
    await confirmOrAbort(
      `Send ${count} of ${matching} deliveries that are ${body.state} since ${body.since} again?`,
      args.yes,
    )
    const done = await requestRetry(false)
    const left = Math.max(0, done.matching - done.retried)
    const rest = left === 0 ? '' : ` ${left} are left; run it again for them.`
    show({ ok: true, retried: done.retried, left }, `Queued ${done.retried} to be sent again; ${when}.${rest}`)
  },
})

type RetryFlags = {
  readonly state?: string | undefined
  readonly since?: string | undefined
  readonly connection?: string | undefined
  readonly limit?: string | undefined
}

function refuseFiltersBesideId({ state, since, connection, limit }: RetryFlags): void {
  const isMany = [state, since, connection, limit].some((flag) => flag !== undefined)
  if (isMany) throw usageError('give either <ID>, or --state and --since for many')
}

function parseRetryFilter({ state, since, connection, limit = '100' }: RetryFlags) {
  if (state === undefined || since === undefined)
    throw usageError('<ID> is missing; or name many with --state and --since')
  const known = (['unknown', 'refused', 'dead'] as const).find((each) => each === state)
  if (known === undefined) throw usageError('--state must be one of unknown, refused, dead')
  if (!/^\d{1,3}$/.test(limit) || Number(limit) < 1 || Number(limit) > 500)
    throw usageError('--limit must be a whole number from 1 to 500')
  const named = connection === undefined ? {} : { connection }
  return { state: known, since: parseTimeFlag('since', since), limit: Number(limit), ...named }
}

const deadLettersListCommand = operatorCommand({
  name: 'list',
  description: 'List messages whose turn died or that could not be read, newest first.',
  examples: ['parley dead-letters list', 'parley dead-letters list --state refused --limit 200 --json'],
  args: {
    state: {
      type: 'enum',
      options: ['dead', 'refused', 'ignored'],
      default: 'dead',
      description: 'refused: judged and left without an answer; ignored: asked for nothing',
    },
    limit: { type: 'string', default: '50', description: 'Lines per page, 1 to 500', valueHint: 'number' },
    before: { type: 'string', description: 'Where the page before this one ended', valueHint: 'number' },
    connection: connectionArg,
  },
  async run({ args, ask, show }) {
    const state = args.state ?? 'dead'
    const { limit = '50', before, connection } = args
    const page = { limit, before, connection }
    const { list, listRefused, listIgnored } = deadLetters.operations
    const answer =
      state === 'dead'
        ? await ask(list, page).then(({ deadLetters: messages, next }) => ({ messages, next }))
        : state === 'refused'
          ? await ask(listRefused, page).then(({ refused: messages, next }) => ({ messages, next }))
          : await ask(listIgnored, page).then(({ ignored: messages, next }) => ({ messages, next }))
    const { messages } = answer
    const lines = formatTable(messages, [
      { title: 'ID', cell: (line) => line.id },
      { title: 'CONNECTION', cell: (line) => line.connection },
      { title: 'REASON', cell: (line) => line.reason },
      { title: 'FROM', cell: (line) => line.subject },
      { title: 'MESSAGE', cell: (line) => line.messageId },
      { title: 'TRIES', cell: (line) => line.attempts },
      { title: 'RECEIVED', cell: (line) => formatInstant(line.receivedAt) },
    ])
    const more =
      answer.next === null ? '' : `\n\nMore: parley dead-letters list --state ${state} --before ${answer.next}`
    show(answer, messages.length === 0 ? `No ${state} messages.` : `${lines}${more}`)
  },
})

const resubmitCommand = operatorCommand({
  name: 'resubmit',
  description:
    'Queue a dead message again, with the others of its turn; what was done is not done again. What could not be read is read by this release.',
  examples: [
    'parley dead-letters resubmit 0192f1c2-7d5e-7abc-8def-0123456789ab',
    'parley dead-letters resubmit 0192f1c2-7d5e-7abc-8def-0123456789ab --anew --yes',
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
  async run({ args, ask, show, isOffline }) {
    const { id } = args
    const { operations } = deadLetters
    const effects = args.anew ? (await ask(operations.effects, { id })).effects : []
    if (effects.length > 0 && !args.yes) {
      const lines = formatTable(effects, [
        { title: 'MAY HAPPEN AGAIN', cell: (line) => line.label },
        { title: 'STATE', cell: (line) => (line.state === 'finished' ? 'done' : 'unknown') },
      ])
      return show({ ok: false, id: args.id, effects }, `${lines}\nNothing was queued. Add --yes to run it anew.`)
    }
    await ask(operations.resubmit, args.anew ? { id, anew: 'true' } : { id })
    const queued = isOffline ? 'Queued; a gateway takes it when it starts.' : 'Queued again.'
    show({ ok: true, id: args.id, effects }, queued)
  },
})

export const deadLettersCommands: Group = {
  name: 'dead-letters',
  aliases: ['dlq'],
  description: 'Messages that ended without an answer; parley dlq for short.',
  examples: ['parley dead-letters list', 'parley dead-letters resubmit 0192f1c2-7d5e-7abc-8def-0123456789ab'],
  commands: [deadLettersListCommand, resubmitCommand],
}
