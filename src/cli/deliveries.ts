// `parley deliveries` and `parley dead`: calls that failed or whose outcome is unknown, dead letters, and their retry.
import type { Delivery, DeliveryLine } from '../db/deliveries.ts'
import type { EndedMessage, PastEffect } from '../db/receipts.ts'
import { CommandError, exitCodes, wrongUsage } from './command-error.ts'
import type { Group } from './command-line.ts'
import { buildPageQuery, confirmOrAbort, pageArgs, pageFooter, parseTimeFlag, yesArg } from './flags.ts'
import { type CallGateway, operatorCommand } from './operator-command.ts'
import { formatInstant, formatTable, printableLine } from './output.ts'

const idArg = {
  id: { type: 'positional', required: true, description: 'Id of a delivery, as the list shows it' },
} as const

const deliveriesListCommand = operatorCommand({
  name: 'list',
  description: 'List deliveries, newest first: those that failed, unless --state says otherwise.',
  examples: ['parley deliveries list', 'parley deliveries list --state unknown,dead --limit 200 --json'],
  args: {
    state: {
      type: 'string',
      description:
        'unknown, refused, dead, bounced, cancelled, queued, sending, retry or delivered; several with commas',
      valueHint: 'states',
    },
    ...pageArgs,
  },
  before: (args) => void buildPageQuery(args, {}),
  async run({ args, callGateway, show }) {
    const query = buildPageQuery(args, { state: args.state })
    const page = await callGateway<DeliveryPage>('GET', `/admin/deliveries?${query}`)
    const lines = formatTable(page.deliveries, [
      { title: 'ID', cell: (line) => line.id },
      { title: 'CONNECTION', cell: (line) => line.connection },
      { title: 'STATE', cell: deliveryStateText },
      { title: 'REASON', cell: (line) => line.bounceReason ?? line.reason },
      { title: 'PURPOSE', cell: (line) => line.purpose },
      { title: 'TRIES', cell: (line) => line.attempt },
      { title: 'CREATED', cell: (line) => formatInstant(line.createdAt) },
    ])
    const more = pageFooter(page.next, 'parley deliveries list')
    show(page, page.deliveries.length === 0 ? 'No deliveries in this state.' : `${lines}${more}`)
  },
})

type DeliveryPage = { readonly deliveries: readonly DeliveryLine[]; readonly next: number | null }

const showCommand = operatorCommand({
  name: 'show',
  description: 'Show one delivery whole, with the call as the vendor gets it.',
  examples: ['parley deliveries show 0192f1c2-7d5e-7abc-8def-0123456789ab'],
  args: idArg,
  async run({ args, callGateway, show }) {
    const { delivery } = await callGateway<{ delivery: Delivery }>('GET', `/admin/deliveries/${encodeId(args.id)}`)
    const { call, ...facts } = delivery
    const lines = Object.entries(facts).map(
      ([name, value]) => `${name.padEnd(12)} ${printableLine(String(value ?? '-'))}`,
    )
    show({ delivery }, [...lines, 'call', indentedJson(call)].join('\n'))
  },
})

const retryCommand = operatorCommand({
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
    connection: pageArgs.connection,
    limit: {
      type: 'string',
      description: 'How many at most, 1 to 500, the oldest first (default: 100)',
      valueHint: 'number',
    },
    ...yesArg,
  },
  before: (args) => void (args.id === undefined ? retryFilter(args) : requireOnlyId(args)),
  async run({ args, callGateway, show, isOffline }) {
    const when = isOffline ? 'they are sent when a gateway starts' : 'they are sent now'
    if (args.id !== undefined) {
      await callGateway('POST', `/admin/deliveries/${encodeId(args.id)}/retry`)
      const text = isOffline ? 'Queued; it is sent when a gateway starts.' : 'Queued to be sent again.'
      return show({ ok: true, id: args.id }, text)
    }
    const body = retryFilter(args)
    const requestRetry = (dry_run: boolean) =>
      callGateway<Retried>('POST', '/admin/deliveries/retry', { body: { ...body, dry_run }, timeoutMs: 300_000 })
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

type Retried = { readonly matching: number; readonly retried: number }

type RetryFlags = {
  readonly state?: string | undefined
  readonly since?: string | undefined
  readonly connection?: string | undefined
  readonly limit?: string | undefined
}

function requireOnlyId({ state, since, connection, limit }: RetryFlags): void {
  const isMany = [state, since, connection, limit].some((flag) => flag !== undefined)
  if (isMany) throw wrongUsage('give either <ID>, or --state and --since for many')
}

function retryFilter({ state, since, connection, limit = '100' }: RetryFlags) {
  if (state === undefined || since === undefined)
    throw wrongUsage('<ID> is missing; or name many with --state and --since')
  if (!['unknown', 'refused', 'dead'].includes(state)) throw wrongUsage('--state must be one of unknown, refused, dead')
  if (!/^\d{1,3}$/.test(limit) || Number(limit) < 1 || Number(limit) > 500)
    throw wrongUsage('--limit must be a whole number from 1 to 500')
  const named = connection === undefined ? {} : { connection }
  return { state, since: parseTimeFlag('since', since), limit: Number(limit), ...named }
}

const dropCommand = operatorCommand({
  name: 'drop',
  description: 'Let a failed delivery go: it leaves the list and can be sent no more.',
  examples: ['parley deliveries drop 0192f1c2-7d5e-7abc-8def-0123456789ab --yes'],
  args: { ...idArg, ...yesArg },
  before: (args) => confirmOrAbort(`Drop delivery ${args.id} for good?`, args.yes),
  async run({ args, callGateway, show }) {
    await callGateway('POST', `/admin/deliveries/${encodeId(args.id)}/drop`)
    show({ ok: true, id: args.id }, 'Dropped.')
  },
})

export const deliveriesCommands: Group = {
  name: 'deliveries',
  description: 'What was to be sent and failed, or may have failed.',
  examples: ['parley deliveries list', 'parley deliveries retry 0192f1c2-7d5e-7abc-8def-0123456789ab'],
  commands: [deliveriesListCommand, showCommand, retryCommand, dropCommand],
}

/** A bounced mail was delivered all the same: to a server that could not hand it on. */
function deliveryStateText({ state, bounceKind }: DeliveryLine): string {
  if (bounceKind === null) return state
  return `${state}, ${bounceKind === 'failed' ? 'came back' : 'delayed'}`
}

function encodeId(id: string): string {
  return encodeURIComponent(id)
}

function indentedJson(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(/^/gm, '  ')
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
    ...pageArgs,
  },
  before: (args) => void buildPageQuery(args, {}),
  async run({ args, callGateway, show }) {
    const state = args.state ?? 'dead'
    const [route, field] = state === 'dead' ? ['dead-letters', 'deadLetters'] : [state, state]
    const answer = await callGateway<{ readonly next: number | null } & Readonly<Record<string, unknown>>>(
      'GET',
      `/admin/${route}?${buildPageQuery(args, {})}`,
    )
    const messages = answer[field] as readonly EndedMessage[]
    const lines = formatTable(messages, [
      { title: 'ID', cell: (line) => line.id },
      { title: 'CONNECTION', cell: (line) => line.connection },
      { title: 'REASON', cell: (line) => line.reason },
      { title: 'FROM', cell: (line) => line.subject },
      { title: 'MESSAGE', cell: (line) => line.messageId },
      { title: 'TRIES', cell: (line) => line.attempts },
      { title: 'RECEIVED', cell: (line) => formatInstant(line.receivedAt) },
    ])
    const more = pageFooter(answer.next, `parley dead-letters list --state ${state}`)
    show({ messages, next: answer.next }, messages.length === 0 ? `No ${state} messages.` : `${lines}${more}`)
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
  async run({ args, callGateway, show, isOffline }) {
    const path = `/admin/dead-letters/${encodeURIComponent(args.id)}`
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
  name: 'dead-letters',
  aliases: ['dlq'],
  description: 'Messages that ended without an answer; parley dlq for short.',
  examples: ['parley dead-letters list', 'parley dead-letters resubmit 0192f1c2-7d5e-7abc-8def-0123456789ab'],
  commands: [deadLettersListCommand, resubmitCommand],
}
