// `parley activitypub blocks`: the servers and accounts that the operator blocks, from now on and without a restart.

import type {
  ChannelCommandGroup,
  CommandFlags,
  CommandResult,
  OperatingCommand,
  OperatingContext,
} from '../../../src/contract/index.ts'
import type { JsonObject } from '../../../src/lib/index.ts'
import {
  type BlockList,
  type BlockRow,
  listHeader,
  maxListChars,
  readBlockList,
  writeBlockList,
} from './block-list-csv.ts'
import { maxRowsAtOnce, shouldImportRow } from './blocks.ts'
import { listResult, operationDoneResult, pickGivenFlags, replaceControlCharsWithSpaces } from './command-output.ts'
import { pageFlags } from './commands.ts'

// `blocks import` reads a list of servers from a file, in pieces that each are one commit.

const shownLines = 20
const maxImportRounds = 100

const importBlocksCommand: OperatingCommand = {
  name: 'import',
  description:
    'Turn away the servers of a list, as Mastodon exports them. Only those that it suspends, unless you say --all.',
  examples: [
    'parley activitypub blocks import blocks.csv --dry-run',
    'parley activitypub blocks import blocks.csv --all',
  ],
  flags: {
    file: { type: 'positional', required: true, description: 'The list: 1 MiB and 20,000 rows at most' },
    all: { type: 'boolean', description: 'Also those that the list only silences' },
    'dry-run': { type: 'boolean', description: 'Show what would change, and change nothing' },
  },
  async operate(flags, context) {
    const list = readBlockList(await context.readText(String(flags['file']), maxListChars))
    const all = flags['all'] === true
    const counts = await importBlocksInBatches(
      context,
      list.rows.filter((row) => shouldImportRow(row, all)),
      flags['dry-run'] === true,
    )
    return reportImport(list, all, counts, flags['dry-run'] === true)
  },
}

type Counts = { readonly added: number; readonly already: number; readonly followers: number }

async function importBlocksInBatches(
  context: OperatingContext,
  rows: readonly BlockRow[],
  dryRun: boolean,
): Promise<Counts> {
  const counts = { added: 0, already: 0, followers: 0 }
  for (let at = 0; at < rows.length; at += maxRowsAtOnce) {
    const piece = rows.slice(at, at + maxRowsAtOnce)
    const input: JsonObject = { csv: `${listHeader}${writeBlockList(piece)}`, all: true, dryRun }
    let { value } = await context.operate('blocks.import', input)
    counts.added += Number(value['added'])
    counts.already += Number(value['already'])
    counts.followers += Number(value['followers'])
    // Who still follows from there is removed by asking again.
    for (let round = 0; round < maxImportRounds && !dryRun && value['isComplete'] === false; round += 1) {
      value = (await context.operate('blocks.import', input)).value
      counts.followers += Number(value['followers'])
    }
  }
  return counts
}

function reportImport({ rows, refused }: BlockList, all: boolean, counts: Counts, isDryRun: boolean): CommandResult {
  const left = rows.filter((row) => !shouldImportRow(row, all))
  const lines = [
    `${isDryRun ? 'Would be blocked' : 'Blocked'}: ${counts.added}; blocked before: ${counts.already}; followers ${isDryRun ? 'to go' : 'removed'}: ${counts.followers}.`,
    ...(left.length === 0
      ? []
      : [`Not taken, since the list does not suspend them (--all takes them): ${left.length}.`]),
    ...left
      .slice(0, shownLines)
      .map(({ line, host, severity }) => `  line ${line}: ${host}, ${replaceControlCharsWithSpaces(severity)}`),
    ...(refused.length === 0 ? [] : [`Refused: ${refused.length}.`]),
    ...refused.slice(0, shownLines).map(({ line, why }) => `  line ${line}: ${why}`),
  ]
  return {
    value: {
      ...counts,
      isDryRun,
      notTaken: left.map(({ line, host, severity }) => ({ line, host, severity })),
      refused: refused.map(({ line, why }) => ({ line, why })),
    },
    text: lines.join('\n'),
    ...(refused.length === 0 ? {} : { problem: `${refused.length} rows of the list name no server` }),
  }
}

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
  async operate(flags, context) {
    const { value, ...answer } = await context.operate('blocks.list', pickGivenFlags(flags, 'limit', 'after'))
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
  async operate(flags, context) {
    const input = pickGivenFlags(flags, 'peer', 'comment')
    const first = await context.operate('blocks.add', input)
    let followers = Number(first.value['followers'])
    let last = first
    for (let round = 0; round < maxBlockRounds && last.value['isComplete'] === false; round += 1) {
      last = await context.operate('blocks.add', input)
      followers += Number(last.value['followers'])
    }
    const value = { ...first.value, followers, isComplete: last.value['isComplete'] ?? true }
    const words = first.value['added'] === 0 ? 'You had blocked it before' : 'Blocked, within half a minute everywhere'
    const text = `${words}; ${followers} followers removed.`
    return { ...operationDoneResult({ ...first, value }, { ...context, isOffline: false }, text), text }
  },
}

const remove: OperatingCommand = {
  name: 'remove',
  description: 'Let a server or an account in again. Accounts that followed have to ask again.',
  examples: ['parley activitypub blocks remove bad.example --yes'],
  flags: peerFlag,
  confirm: ({ peer }: CommandFlags) => `Let ${String(peer)} in again?`,
  operate: async (flags, context) =>
    operationDoneResult(
      await context.operate('blocks.remove', pickGivenFlags(flags, 'peer')),
      { ...context, isOffline: false },
      'Let in again, within half a minute.',
    ),
}

const exportCommand: OperatingCommand = {
  name: 'export',
  description: 'Write the hosts that you turned away as a list that Mastodon reads.',
  examples: ['parley activitypub blocks export > blocks.csv'],
  flags: {},
  async operate(_flags, context) {
    let csv = ''
    for (let after: string | undefined, isMore = true; isMore; ) {
      const { value } = await context.operate('blocks.export', after === undefined ? {} : { after })
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
