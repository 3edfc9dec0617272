// `parley deliveries`: calls that failed or whose outcome is unknown; sent again or let go by hand.
import type { Delivery, DeliveryLine } from '../outbox/delivery-store.ts'
import type { Group } from './command.ts'
import { confirm, yesArg } from './confirm.ts'
import { operatorCommand } from './operator.ts'
import { instant, oneLine, table } from './output.ts'
import { pageArgs, pageFooter, pageQuery } from './paging.ts'

const idArg = {
  id: { type: 'positional', required: true, description: 'Id of a delivery, as the list shows it' },
} as const

const listCommand = operatorCommand({
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
  before: (args) => void pageQuery(args, {}),
  async run({ args, callGateway, show }) {
    const query = pageQuery(args, { state: args.state })
    const page = await callGateway<DeliveryPage>('GET', `/admin/deliveries?${query}`)
    const lines = table(page.deliveries, [
      { title: 'ID', cell: (line) => line.id },
      { title: 'CONNECTION', cell: (line) => line.connection },
      { title: 'STATE', cell: stateOf },
      { title: 'REASON', cell: (line) => line.bounceReason ?? line.reason },
      { title: 'PURPOSE', cell: (line) => line.purpose },
      { title: 'TRIES', cell: (line) => line.attempt },
      { title: 'CREATED', cell: (line) => instant(line.createdAt) },
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
    const { delivery } = await callGateway<{ delivery: Delivery }>('GET', `/admin/deliveries/${encoded(args.id)}`)
    const { call, ...facts } = delivery
    const lines = Object.entries(facts).map(([name, value]) => `${name.padEnd(12)} ${oneLine(String(value ?? '-'))}`)
    show({ delivery }, [...lines, 'call', indented(call)].join('\n'))
  },
})

const retryCommand = operatorCommand({
  name: 'retry',
  description: 'Send a failed delivery again; one whose outcome is unknown goes out marked as possibly repeated.',
  examples: ['parley deliveries retry 0192f1c2-7d5e-7abc-8def-0123456789ab'],
  args: idArg,
  async run({ args, callGateway, show, isOffline }) {
    await callGateway('POST', `/admin/deliveries/${encoded(args.id)}/retry`)
    show(
      { ok: true, id: args.id },
      isOffline ? 'Queued; it is sent when a gateway starts.' : 'Queued to be sent again.',
    )
  },
})

const dropCommand = operatorCommand({
  name: 'drop',
  description: 'Let a failed delivery go: it leaves the list and can be sent no more.',
  examples: ['parley deliveries drop 0192f1c2-7d5e-7abc-8def-0123456789ab --yes'],
  args: { ...idArg, ...yesArg },
  before: (args) => confirm(`Drop delivery ${args.id} for good?`, args.yes),
  async run({ args, callGateway, show }) {
    await callGateway('POST', `/admin/deliveries/${encoded(args.id)}/drop`)
    show({ ok: true, id: args.id }, 'Dropped.')
  },
})

export const deliveriesCommands: Group = {
  name: 'deliveries',
  description: 'What was to be sent and failed, or may have failed.',
  examples: ['parley deliveries list', 'parley deliveries retry 0192f1c2-7d5e-7abc-8def-0123456789ab'],
  commands: [listCommand, showCommand, retryCommand, dropCommand],
}

/** What came back was delivered all the same: to somebody who then could not hand it on. */
function stateOf({ state, bounceKind }: DeliveryLine): string {
  if (bounceKind === null) return state
  return `${state}, ${bounceKind === 'failed' ? 'came back' : 'delayed'}`
}

function encoded(id: string): string {
  return encodeURIComponent(id)
}

function indented(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(/^/gm, '  ')
}
