// `parley activitypub requests` and `followers`: who wants to follow, and who does.
import type { ChannelCommandGroup, CommandFlags, OperatingCommand } from '../../../src/contract/index.ts'
import { doneResult, listResult, pickFlags } from './answers.ts'

const someone = 'https://social.example/users/alice'
const agentFlag = {
  agent: { type: 'string', description: 'Of this agent alone', valueHint: 'slug' },
} as const
const actorFlags = {
  actor: { type: 'positional', required: true, description: 'Who it is, as the list shows them' },
  ...agentFlag,
} as const
/** Of every list of this channel. */
export const pageFlags = {
  limit: { type: 'string', default: '50', description: 'Lines per page, 1 to 100', valueHint: 'number' },
  after: { type: 'string', description: 'Where the page before this one ended', valueHint: 'text' },
} as const

function listPeopleCommand(group: 'requests' | 'followers', description: string, none: string): OperatingCommand {
  const command = `parley activitypub ${group} list`
  return {
    name: 'list',
    description,
    examples: [command, `${command} --agent concierge --json`],
    flags: { ...pageFlags, ...agentFlag },
    async operate(flags, desk) {
      const answer = await desk.operate(`${group}.list`, pickFlags(flags, 'limit', 'after', 'agent'))
      return listResult(answer, { name: group, columns: ['agent', 'actor', 'since'], none, more: command })
    },
  }
}

function decideRequestCommand(verb: 'accept' | 'reject', description: string, words: string): OperatingCommand {
  return {
    name: verb,
    description,
    examples: [`parley activitypub requests ${verb} ${someone}`],
    flags: actorFlags,
    operate: async (flags, desk) =>
      doneResult(await desk.operate(`requests.${verb}`, pickFlags(flags, 'actor', 'agent')), desk, words),
  }
}

const removal: OperatingCommand = {
  name: 'remove',
  description: 'Remove a follower; their server is told. They may ask again.',
  examples: [`parley activitypub followers remove ${someone} --yes`],
  flags: actorFlags,
  confirm: ({ actor }: CommandFlags) => `Remove ${String(actor)} as a follower?`,
  operate: async (flags, desk) =>
    doneResult(
      await desk.operate('followers.remove', pickFlags(flags, 'actor', 'agent')),
      desk,
      'Removed; their server is told.',
    ),
}

export const requestCommands: ChannelCommandGroup = {
  name: 'requests',
  description: 'Who asked to follow an agent, where you decide (ACTIVITYPUB_FOLLOW=manual).',
  examples: ['parley activitypub requests', `parley activitypub requests accept ${someone}`],
  fallback: 'list',
  commands: [
    listPeopleCommand('requests', 'List who waits for your answer.', 'There are no follow requests.'),
    decideRequestCommand('accept', 'Accept a follow request; its sender is told.', 'Accepted; their server is told.'),
    decideRequestCommand(
      'reject',
      'Reject a follow request; its sender is told. They may ask again.',
      'Rejected; their server is told.',
    ),
  ],
}

export const followerCommands: ChannelCommandGroup = {
  name: 'followers',
  description: 'Who follows an agent.',
  examples: ['parley activitypub followers', `parley activitypub followers remove ${someone} --yes`],
  fallback: 'list',
  commands: [listPeopleCommand('followers', 'List who follows.', 'There are no followers.'), removal],
}
