// `parley activitypub posts`: what the agents have posted, and what becomes of it.
import type { ChannelCommandGroup, CommandFlags, OperatingCommand } from '../../../src/contract/index.ts'
import { doneResult, listResult, pickFlags } from './answers.ts'
import { pageFlags } from './people-commands.ts'

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
  async operate(flags, desk) {
    const answer = await desk.operate('posts.list', pickFlags(flags, 'limit', 'after', 'agent', 'private'))
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
  async operate(flags, desk) {
    const answer = await desk.operate('posts.edit', pickFlags(flags, 'id', 'markdown'))
    if (answer.value['isChanged'] === false) return { value: answer.value, text: 'It says that already.' }
    return doneResult(answer, desk, `Changed; told to ${String(answer.value['told'])} inboxes.`)
  },
}

const deletePostCommand: OperatingCommand = {
  name: 'delete',
  description: 'Delete a post for good; every server that got it is told, and its files go from its address.',
  examples: [`parley activitypub posts delete ${examplePostId} --yes`],
  flags: postIdFlag,
  confirm: ({ id }: CommandFlags) => `Take ${String(id)} back? It cannot be undone.`,
  async operate(flags, desk) {
    const answer = await desk.operate('posts.delete', pickFlags(flags, 'id'))
    return doneResult(answer, desk, `Taken back; told to ${String(answer.value['told'])} inboxes.`)
  },
}

export const postCommands: ChannelCommandGroup = {
  name: 'posts',
  description: 'What the agents have posted: see it, change it, take it back.',
  examples: ['parley activitypub posts', `parley activitypub posts delete ${examplePostId} --yes`],
  fallback: 'list',
  commands: [listPostsCommand, editPostCommand, deletePostCommand],
}
