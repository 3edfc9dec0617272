// `parley activitypub requests`, `followers`, `posts`, `reports` and `keys`: the operator's commands of this channel.

import type { ChannelCommandGroup, CommandFlags, OperatingCommand } from '../../../src/contract/index.ts'
import type { JsonObject } from '../../../src/lib/index.ts'
import { listResult, operationDoneResult, pickGivenFlags, replaceControlCharsWithSpaces } from './command-output.ts'

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
    async operate(flags, context) {
      const answer = await context.operate(`${group}.list`, pickGivenFlags(flags, 'limit', 'after', 'agent'))
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
    operate: async (flags, context) =>
      operationDoneResult(
        await context.operate(`requests.${verb}`, pickGivenFlags(flags, 'actor', 'agent')),
        context,
        words,
      ),
  }
}

const removal: OperatingCommand = {
  name: 'remove',
  description: 'Remove a follower; their server is told. They may ask again.',
  examples: [`parley activitypub followers remove ${someone} --yes`],
  flags: actorFlags,
  confirm: ({ actor }: CommandFlags) => `Remove ${String(actor)} as a follower?`,
  operate: async (flags, context) =>
    operationDoneResult(
      await context.operate('followers.remove', pickGivenFlags(flags, 'actor', 'agent')),
      context,
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

const examplePostId = 'https://agents.example/ap/concierge/notes/3f2c'
const postIdFlag = {
  id: { type: 'positional', required: true, description: 'Its address, or the end of it, as the list shows it' },
} as const

const listPostsCommand: OperatingCommand = {
  name: 'list',
  description: 'List what was posted, the newest first. Direct posts are listed without their words.',
  examples: ['parley activitypub posts list', 'parley activitypub posts list --agent concierge --private --json'],
  flags: {
    ...pageFlags,
    agent: { type: 'string', description: 'Of this agent alone', valueHint: 'slug' },
    private: { type: 'boolean', description: 'Show the words of direct posts, too' },
  },
  async operate(flags, context) {
    const answer = await context.operate('posts.list', pickGivenFlags(flags, 'limit', 'after', 'agent', 'private'))
    const columns = ['published', 'visibility', 'id', 'words']
    return listResult(answer, {
      name: 'posts',
      columns,
      none: 'Nothing was posted.',
      more: 'parley activitypub posts list',
    })
  },
}

const editPostCommand: OperatingCommand = {
  name: 'edit',
  description: 'Change the text of a post; every server that got it is told. Its mentions and files stay.',
  examples: [`parley activitypub posts edit ${examplePostId} 'The train leaves at **nine**.'`],
  flags: { ...postIdFlag, markdown: { type: 'positional', required: true, description: 'The new words, as Markdown' } },
  async operate(flags, context) {
    const answer = await context.operate('posts.edit', pickGivenFlags(flags, 'id', 'markdown'))
    if (answer.value['isChanged'] === false) return { value: answer.value, text: 'It says that already.' }
    return operationDoneResult(answer, context, `Changed; told to ${String(answer.value['told'])} inboxes.`)
  },
}

const deletePostCommand: OperatingCommand = {
  name: 'delete',
  description: 'Delete a post for good; every server that got it is told, and its files go from its address.',
  examples: [`parley activitypub posts delete ${examplePostId} --yes`],
  flags: postIdFlag,
  confirm: ({ id }: CommandFlags) => `Take ${String(id)} back? It cannot be undone.`,
  async operate(flags, context) {
    const answer = await context.operate('posts.delete', pickGivenFlags(flags, 'id'))
    return operationDoneResult(answer, context, `Taken back; told to ${String(answer.value['told'])} inboxes.`)
  },
}

export const postCommands: ChannelCommandGroup = {
  name: 'posts',
  description: 'What the agents have posted: see it, change it, take it back.',
  examples: ['parley activitypub posts', `parley activitypub posts delete ${examplePostId} --yes`],
  fallback: 'list',
  commands: [listPostsCommand, editPostCommand, deletePostCommand],
}

const exampleReportId = 'https://social.example/b3a1'
const reportIdFlag = {
  id: { type: 'positional', required: true, description: 'Id of a report, as the list shows it' },
} as const

const listReportsCommand: OperatingCommand = {
  name: 'list',
  description: 'List the reports that are open.',
  examples: ['parley activitypub reports list', 'parley activitypub reports list --closed'],
  flags: { ...pageFlags, closed: { type: 'boolean', description: 'Those that were closed instead' } },
  async operate(flags, context) {
    const input = { ...pickGivenFlags(flags, 'limit', 'after'), closed: flags['closed'] === true }
    const more = `parley activitypub reports list${input.closed ? ' --closed' : ''}`
    const columns = ['id', 'at', 'reporter', 'agents', 'complaint']
    return listResult(await context.operate('reports.list', input), {
      name: 'reports',
      columns,
      none: 'No reports.',
      more,
    })
  },
}

const showReportCommand: OperatingCommand = {
  name: 'show',
  description: 'Show a report: who reported, which posts of yours, in which words, when.',
  examples: [`parley activitypub reports show ${exampleReportId}`],
  flags: reportIdFlag,
  async operate(flags, context) {
    const { value } = await context.operate('reports.show', pickGivenFlags(flags, 'id'))
    return { value, text: formatReportDetails((value['report'] ?? {}) as JsonObject) }
  },
}

const closeReportCommand: OperatingCommand = {
  name: 'close',
  description: 'Close a report. It is kept among those that were closed, and the server that sent it is not told.',
  examples: [`parley activitypub reports close ${exampleReportId}`],
  flags: reportIdFlag,
  operate: async (flags, context) =>
    operationDoneResult(await context.operate('reports.close', pickGivenFlags(flags, 'id')), context, 'Closed.'),
}

function formatReportDetails({ posts, agents, about: _, complaint, ...facts }: JsonObject): string {
  const names = (Array.isArray(agents) ? agents : []).map(String).join(', ')
  const lines = Object.entries({ ...facts, agents: names || null }).map(
    ([name, value]) => `${name.padEnd(10)} ${String(value ?? '-')}`,
  )
  const quoted = ((posts ?? []) as readonly JsonObject[]).flatMap(({ id, published, words }) => [
    '',
    `${String(id)}  ${String(published ?? '-')}`,
    `  ${String(words ?? '(not here any more)').replaceAll('\n', '\n  ')}`,
  ])
  return replaceControlCharsWithSpaces([...lines, '', String(complaint || '(no words)'), ...quoted].join('\n'))
}

export const reportCommands: ChannelCommandGroup = {
  name: 'reports',
  description: 'What other servers reported about your agents.',
  examples: ['parley activitypub reports', `parley activitypub reports show ${exampleReportId}`],
  fallback: 'list',
  commands: [listReportsCommand, showReportCommand, closeReportCommand],
}

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
  async operate(flags, context) {
    const answer = await context.operate('keys.rotate', {
      ...pickGivenFlags(flags, 'owner'),
      again: flags['again'] === true,
    })
    const { key, told } = answer.value
    return operationDoneResult(
      answer,
      context,
      `The key is ${String(key)} from now on; servers that are told: ${String(told)}.`,
    )
  },
}

export const keyCommands: ChannelCommandGroup = {
  name: 'keys',
  description: 'The keys of your agents.',
  examples: ['parley activitypub keys rotate concierge --yes'],
  commands: [rotate],
}
