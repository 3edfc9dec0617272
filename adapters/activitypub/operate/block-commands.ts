// `parley activitypub blocks`: the servers and accounts that the operator blocks, from now on and without a restart.
import type { ChannelCommandGroup, CommandFlags, JsonObject, OperatingCommand } from '../../../src/contract/index.ts'
import { doneResult, listResult, pickFlags } from './answers.ts'
import { importBlocksCommand } from './block-import-command.ts'
import { pageFlags } from './people-commands.ts'

const peerFlag = {
  peer: { type: 'positional', required: true, description: 'A host, with those below it, or the address of an actor' },
} as const
/** How often followers are gone through again, a thousand each time. */
const maxBlockRounds = 100

const list: OperatingCommand = {
  name: 'list',
  description: 'List whom you turned away; those of the settings come first.',
  examples: ['parley activitypub blocks list', 'parley activitypub blocks list --json'],
  flags: pageFlags,
  async operate(flags, desk) {
    const { value, ...answer } = await desk.operate('blocks.list', pickFlags(flags, 'limit', 'after'))
    const settings = (value['settings'] ?? []) as readonly string[]
    const fixed = settings.map((peer) => ({ peer, severity: 'suspend', since: 'settings', comment: '' }))
    const blocks = [...fixed, ...((value['blocks'] ?? []) as readonly JsonObject[])]
    const columns = ['peer', 'severity', 'since', 'comment']
    const more = 'parley activitypub blocks list'
    const shown = { ...answer, value: { ...value, blocks } }
    return { ...listResult(shown, { name: 'blocks', columns, none: 'You block no servers or accounts.', more }), value }
  },
}

const add: OperatingCommand = {
  name: 'add',
  description:
    'Block a server or an account: nothing comes in, nothing goes out, and it no longer follows your agents.',
  examples: ["parley activitypub blocks add bad.example --comment 'spam'"],
  flags: { ...peerFlag, comment: { type: 'string', description: 'Why, for you and the readers of your list' } },
  async operate(flags, desk) {
    const input = pickFlags(flags, 'peer', 'comment')
    const first = await desk.operate('blocks.add', input)
    let followers = Number(first.value['followers'])
    let last = first
    for (let round = 0; round < maxBlockRounds && last.value['isComplete'] === false; round += 1) {
      last = await desk.operate('blocks.add', input)
      followers += Number(last.value['followers'])
    }
    const value = { ...first.value, followers, isComplete: last.value['isComplete'] ?? true }
    const words = first.value['added'] === 0 ? 'You had blocked it before' : 'Blocked, within half a minute everywhere'
    const text = `${words}; ${followers} followers removed.`
    return { ...doneResult({ ...first, value }, { ...desk, isOffline: false }, text), text }
  },
}

const remove: OperatingCommand = {
  name: 'remove',
  description: 'Let a server or an account in again. Accounts that followed have to ask again.',
  examples: ['parley activitypub blocks remove bad.example --yes'],
  flags: peerFlag,
  confirm: ({ peer }: CommandFlags) => `Let ${String(peer)} in again?`,
  operate: async (flags, desk) =>
    doneResult(
      await desk.operate('blocks.remove', pickFlags(flags, 'peer')),
      { ...desk, isOffline: false },
      'Let in again, within half a minute.',
    ),
}

const exportCommand: OperatingCommand = {
  name: 'export',
  description: 'Write the hosts that you turned away as a list that Mastodon reads.',
  examples: ['parley activitypub blocks export > blocks.csv'],
  flags: {},
  async operate(_flags, desk) {
    let csv = ''
    for (let after: string | undefined, isMore = true; isMore; ) {
      const { value } = await desk.operate('blocks.export', after === undefined ? {} : { after })
      csv += String(value['csv'])
      isMore = typeof value['next'] === 'string'
      after = isMore ? String(value['next']) : undefined
    }
    return { value: { csv }, text: csv.trimEnd() }
  },
}

export const blockCommands: ChannelCommandGroup = {
  name: 'blocks',
  description: 'Whom you turn away: servers, and people on them.',
  examples: ['parley activitypub blocks', 'parley activitypub blocks add bad.example'],
  fallback: 'list',
  commands: [list, add, remove, importBlocksCommand, exportCommand],
}
