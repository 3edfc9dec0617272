// `parley sessions export | take-over | give-back | say`: what an operator does with a session beyond looking at it.
import type { SessionLine } from '../sessions/session-store.ts'
import { type CallGateway, operatorCommand } from './operator.ts'

const example = '0192f1c2-7d5e-7abc-8def-0123456789ab'
const idArg = {
  id: { type: 'positional', required: true, description: 'Id of a session, as the list shows it' },
} as const

export const exportCommand = operatorCommand({
  name: 'export',
  description: 'Print the whole transcript to hand it on; needs the consent of those who take part.',
  examples: [`parley sessions export ${example}`, `parley sessions export ${example} --json > transcript.json`],
  args: idArg,
  async run({ args, callGateway, show }) {
    const path = `/admin/sessions/${encodeURIComponent(args.id)}/export`
    if (args.json === true) return show(await callGateway('POST', path), '')
    const { markdown } = await callGateway<{ session: SessionLine; markdown: string }>(
      'POST',
      `${path}?format=markdown`,
    )
    show({}, markdown)
  },
})

export const takeOverCommand = operatorCommand({
  name: 'take-over',
  description: 'Answer in a session yourself; what arrives waits. Needs the consent of those who take part.',
  examples: [`parley sessions take-over ${example}`],
  args: idArg,
  async run({ args, callGateway, show }) {
    await post(callGateway, args.id, 'take-over')
    const next = `say something with: parley sessions say ${args.id} "…", and end it with: parley sessions give-back ${args.id}`
    show({ ok: true, id: args.id }, `Taken over, and the sender is told; ${next}`)
  },
})

export const giveBackCommand = operatorCommand({
  name: 'give-back',
  description: 'Let the agent answer again; what has arrived meanwhile is answered now.',
  examples: [`parley sessions give-back ${example}`],
  args: idArg,
  async run({ args, callGateway, show }) {
    await post(callGateway, args.id, 'give-back')
    show({ ok: true, id: args.id }, 'Given back, and the sender is told.')
  },
})

export const sayCommand = operatorCommand({
  name: 'say',
  description: 'Say something in a session that was taken over.',
  examples: [`parley sessions say ${example} "I have looked into it: your parcel arrives on Monday."`],
  args: { ...idArg, text: { type: 'positional', required: true, description: 'Up to 10000 characters' } },
  async run({ args, callGateway, show, isOffline }) {
    await post(callGateway, args.id, 'say', { text: args.text })
    show({ ok: true, id: args.id }, isOffline ? 'Stored; a gateway sends it when it starts.' : 'On its way.')
  },
})

function post(callGateway: CallGateway, id: string, act: string, body?: object): Promise<unknown> {
  return callGateway('POST', `/admin/sessions/${encodeURIComponent(id)}/${act}`, body === undefined ? {} : { body })
}
