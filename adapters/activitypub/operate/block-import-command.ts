// `parley activitypub blocks import`: a list of servers from a file, in pieces that each are one commit.
import type { CommandResult, JsonObject, OperatingCommand, OperatingContext } from '../../../src/contract/index.ts'
import { escapeControlChars } from './answers.ts'
import { type BlockList, type BlockRow, listHeader, maxListChars, readBlockList, writeBlockList } from './block-csv.ts'
import { isImported, maxRowsAtOnce } from './block-import.ts'

const shownLines = 20
const maxImportRounds = 100

export const importBlocksCommand: OperatingCommand = {
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
  async operate(flags, desk) {
    const list = readBlockList(await desk.readText(String(flags['file']), maxListChars))
    const all = flags['all'] === true
    const counts = await importInPieces(
      desk,
      list.rows.filter((row) => isImported(row, all)),
      flags['dry-run'] === true,
    )
    return reportImport(list, all, counts, flags['dry-run'] === true)
  },
}

type Counts = { readonly added: number; readonly already: number; readonly followers: number }

async function importInPieces(desk: OperatingContext, rows: readonly BlockRow[], dryRun: boolean): Promise<Counts> {
  const counts = { added: 0, already: 0, followers: 0 }
  for (let at = 0; at < rows.length; at += maxRowsAtOnce) {
    const piece = rows.slice(at, at + maxRowsAtOnce)
    const input: JsonObject = { csv: `${listHeader}${writeBlockList(piece)}`, all: true, dryRun }
    let { value } = await desk.operate('blocks.import', input)
    counts.added += Number(value['added'])
    counts.already += Number(value['already'])
    counts.followers += Number(value['followers'])
    // Who still follows from there is removed by asking again.
    for (let round = 0; round < maxImportRounds && !dryRun && value['isComplete'] === false; round += 1) {
      value = (await desk.operate('blocks.import', input)).value
      counts.followers += Number(value['followers'])
    }
  }
  return counts
}

function reportImport({ rows, refused }: BlockList, all: boolean, counts: Counts, isDryRun: boolean): CommandResult {
  const left = rows.filter((row) => !isImported(row, all))
  const lines = [
    `${isDryRun ? 'Would be blocked' : 'Blocked'}: ${counts.added}; blocked before: ${counts.already}; followers ${isDryRun ? 'to go' : 'removed'}: ${counts.followers}.`,
    ...(left.length === 0
      ? []
      : [`Not taken, since the list does not suspend them (--all takes them): ${left.length}.`]),
    ...left
      .slice(0, shownLines)
      .map(({ line, host, severity }) => `  line ${line}: ${host}, ${escapeControlChars(severity)}`),
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
