// The tree as messages of blocks, each within what the platform accepts, each with a text for notifications.
import type { JsonObject } from '../../contract/index.ts'
import { chunkTree } from '../chunk/chunk-tree.ts'
import type { Block, Root } from '../tree.ts'
import { fallbackText } from './fallback-text.ts'
import { limits } from './limits.ts'
import type { BlocksOptions } from './options.ts'
import { splitLongTables } from './table-block.ts'
import { type BlockMapping, chooseBlockMapping, createBlockMeasure, platformBlocks } from './vehicle.ts'

export type BlocksMessage = { readonly text: string; readonly blocks: readonly JsonObject[] }

export function renderBlocks(root: Root, options: BlocksOptions = {}): readonly BlocksMessage[] {
  const pieces = chunkTree(splitLongTables(root), { limit: limits.message, sizeOf: createBlockMeasure(options) })
  return pieces
    .flatMap((piece) => groupSendableBlocks(piece.children, options))
    .map((children) => ({ text: fallbackText(children, options), blocks: platformBlocks(children, options) }))
    .filter(({ text, blocks }) => text !== '' && blocks.length > 0)
}

/** At most fifty blocks and one table in a message; a heading stays with what it is the heading of. */
function groupSendableBlocks(blocks: readonly Block[], options: BlocksOptions): readonly (readonly Block[])[] {
  const groups: (readonly Block[])[] = []
  let open: Block[] = []
  let tally = nothing
  for (const block of blocks) {
    const next = added(tally, chooseBlockMapping(block, options))
    if (next.blocks <= limits.blocks && next.tables <= 1) {
      open.push(block)
      tally = next
      continue
    }
    const body = withoutHeadingsAtEnd(open)
    groups.push(body)
    open = [...open.slice(body.length), block]
    tally = open.reduce((sum, each) => added(sum, chooseBlockMapping(each, options)), nothing)
  }
  return open.length === 0 ? groups : [...groups, open]
}

type Tally = { readonly blocks: number; readonly tables: number; readonly last?: BlockMapping }

const nothing: Tally = { blocks: 0, tables: 0 }

function added({ blocks, tables, last }: Tally, vehicle: BlockMapping): Tally {
  const isShared = vehicle === 'rich_text' && last === 'rich_text'
  return { blocks: blocks + (isShared ? 0 : 1), tables: tables + (vehicle === 'table' ? 1 : 0), last: vehicle }
}

/** All of them when there is nothing but headings. */
function withoutHeadingsAtEnd(blocks: readonly Block[]): readonly Block[] {
  const end = blocks.findLastIndex(({ type }) => type !== 'heading') + 1
  return end === 0 ? blocks : blocks.slice(0, end)
}
