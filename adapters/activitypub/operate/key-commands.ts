// `parley activitypub keys`: the keys by which others know what an agent says.
import type { ChannelCommandGroup, OperatingCommand } from '../../../src/contract/index.ts'
import { doneResult, pickFlags } from './answers.ts'

const rotate: OperatingCommand = {
  name: 'rotate',
  description:
    'Make new keys, used at once. The old one for proofs is shown for two days more; servers of followers are told.',
  examples: ['parley activitypub keys rotate concierge --yes', 'parley activitypub keys rotate instance --yes'],
  flags: {
    owner: { type: 'positional', required: true, description: 'An agent, or instance: who asks others for documents' },
    again: {
      type: 'boolean',
      description: 'Also within ten minutes of the last time: the old key for proofs is gone then, too',
    },
  },
  confirm: ({ owner }) => `Make new keys for ${String(owner)}?`,
  async operate(flags, desk) {
    const answer = await desk.operate('keys.rotate', { ...pickFlags(flags, 'owner'), again: flags['again'] === true })
    const { key, told } = answer.value
    return doneResult(answer, desk, `The key is ${String(key)} from now on; servers that are told: ${String(told)}.`)
  },
}

export const keyCommands: ChannelCommandGroup = {
  name: 'keys',
  description: 'The keys of your agents.',
  examples: ['parley activitypub keys rotate concierge --yes'],
  commands: [rotate],
}
