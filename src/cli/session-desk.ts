// `parley sessions export | take-over | give-back | say`: what an operator does with a session beyond looking at it.
import type { SessionLine } from '../db/sessions.ts'
import { type CallGateway, operatorCommand } from './operator.ts'

const sessionExample = '0192f1c2-7d5e-7abc-8def-0123456789ab'
const deskSessionArg = {
  id: { type: 'positional', required: true, description: 'Id of a session, as the list shows it' },
} as const

export const exportCommand = operatorCommand({
  name: 'export',
  description: 'Print the whole transcript to hand it on; needs the consent of those who take part.',
  examples: [
    `parley sessions export ${sessionExample}`,
    `parley sessions export ${sessionExample} --json > transcript.json`,
  ],
  args: deskSessionArg,
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
  examples: [`parley sessions take-over ${sessionExample}`],
  args: deskSessionArg,
  async run({ args, callGateway, show }) {
    await postToSession(callGateway, args.id, 'take-over')
    const next = `say something with: parley sessions say ${args.id} "…", and end it with: parley sessions give-back ${args.id}`
    show({ ok: true, id: args.id }, `Taken over, and the sender is told; ${next}`)
  },
})

export const giveBackCommand = operatorCommand({
  name: 'give-back',
  description: 'Let the agent answer again; what has arrived meanwhile is answered now.',
  examples: [`parley sessions give-back ${sessionExample}`],
  args: deskSessionArg,
  async run({ args, callGateway, show }) {
    await postToSession(callGateway, args.id, 'give-back')
    show({ ok: true, id: args.id }, 'Given back, and the sender is told.')
  },
})

export const sayCommand = operatorCommand({
  name: 'say',
  description: 'Say something in a session that was taken over.',
  examples: [`parley sessions say ${sessionExample} "I have looked into it: your parcel arrives on Monday."`],
  args: { ...deskSessionArg, text: { type: 'positional', required: true, description: 'Up to 10000 characters' } },
  async run({ args, callGateway, show, isOffline }) {
    await postToSession(callGateway, args.id, 'say', { text: args.text })
    show({ ok: true, id: args.id }, isOffline ? 'Stored; a gateway sends it when it starts.' : 'On its way.')
  },
})

function postToSession(callGateway: CallGateway, id: string, act: string, body?: object): Promise<unknown> {
  return callGateway('POST', `/admin/sessions/${encodeURIComponent(id)}/${act}`, body === undefined ? {} : { body })
}
