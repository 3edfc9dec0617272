// Which of the platform's blocks carries a block of the tree, and how many characters it counts for.
import type { Json, JsonObject } from '../../contract/index.ts'
import { sumOfBlocks } from '../sum-of-blocks.ts'
import { lineText } from '../table/inline-text.ts'
import type { Block, Heading, Inline } from '../tree.ts'
import { limits } from './limits.ts'
import { type BlocksOptions, resolveUserId, splitBroadcasts } from './options.ts'
import { richElements } from './rich-text.ts'
import { isNativeTable, tableBlock } from './table-block.ts'

export type BlockMapping = 'header' | 'table' | 'divider' | 'rich_text'

const deepestHeader = 3

export function chooseBlockMapping(block: Block, options: BlocksOptions): BlockMapping {
  if (block.type === 'thematicBreak') return 'divider'
  if (isNativeTable(block)) return 'table'
  return block.type === 'heading' && fitsHeader(block, options) ? 'header' : 'rich_text'
}

/** A header holds plain text only. */
function fitsHeader({ depth, children }: Heading, options: BlocksOptions): boolean {
  const text = lineText(children)
  return depth <= deepestHeader && text !== '' && text.length <= limits.header && !holdsNative(children, options)
}

function holdsNative(children: readonly Inline[], options: BlocksOptions): boolean {
  return children.some((node) => {
    if (node.type === 'link') return true
    if (node.type === 'mention') return resolveUserId(node.name, options) !== undefined
    if (node.type === 'text') return splitBroadcasts(node.value, options).length > 1
    return 'children' in node && holdsNative(node.children, options)
  })
}

/** Neighbouring blocks of rich text share one. */
export function platformBlocks(blocks: readonly Block[], options: BlocksOptions): readonly JsonObject[] {
  const result: JsonObject[] = []
  let rich: Block[] = []
  const close = () => {
    const elements = richElements(rich, { options, isQuoted: false, indent: 0 })
    if (elements.length > 0) result.push({ type: 'rich_text', elements })
    rich = []
  }
  for (const block of blocks) {
    const vehicle = chooseBlockMapping(block, options)
    if (vehicle === 'rich_text') {
      rich.push(block)
      continue
    }
    close()
    if (vehicle === 'divider') result.push({ type: 'divider' })
    else if (block.type === 'table') result.push(tableBlock(block, options))
    else if (block.type === 'heading') result.push(headerBlock(block))
  }
  close()
  return result
}

function headerBlock({ children }: Heading): JsonObject {
  return { type: 'header', text: { type: 'plain_text', text: lineText(children), emoji: false } }
}

const counted: ReadonlySet<string> = new Set(['text', 'url', 'user_id', 'range'])
// Tables have a smaller limit of their own; counted this much larger, one that fits a message fits that too.
const tableWeight = limits.message / limits.tableCharacters
const seam = 2

export function createBlockMeasure(options: BlocksOptions): (blocks: readonly Block[]) => number {
  return sumOfBlocks((block) => measure(block, options) + seam)
}

function measure(block: Block, options: BlocksOptions): number {
  const characters = countJsonCharacters(platformBlocks([block], options))
  return chooseBlockMapping(block, options) === 'table' ? Math.ceil(characters * tableWeight) : characters
}

/** What people read and where links lead; the names of fields are not counted. */
function countJsonCharacters(json: Json): number {
  if (json === null || typeof json !== 'object') return 0
  if (Array.isArray(json)) return json.reduce<number>((sum, item: Json) => sum + countJsonCharacters(item), 0)
  let sum = 0
  for (const [key, value] of Object.entries(json)) {
    sum += typeof value === 'string' ? (counted.has(key) ? value.length : 0) : countJsonCharacters(value)
  }
  return sum
}
