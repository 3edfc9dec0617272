// The tree as messages of Block Kit blocks, each within what Slack accepts, each with a text for notifications.
import type { Json, JsonObject } from '../../../src/lib/index.ts'
import {
  type Block,
  chunkTree,
  cutPoint,
  type Heading,
  type Inline,
  lineText,
  type Policy,
  policyAction,
  policyText,
  type Root,
  sumOfBlocks,
  type Table,
  type TableCell,
} from '../../../src/markdown/index.ts'
import { mrkdwnText, renderMrkdwn } from './mrkdwn.ts'
import { type BlocksOptions, limits, resolveUserId, splitBroadcasts } from './options.ts'
import { richElements, richInline, textElement } from './rich-text.ts'

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

function added({ blocks, tables, last }: Tally, mapping: BlockMapping): Tally {
  const isShared = mapping === 'rich_text' && last === 'rich_text'
  return { blocks: blocks + (isShared ? 0 : 1), tables: tables + (mapping === 'table' ? 1 : 0), last: mapping }
}

/** All of them when there is nothing but headings. */
function withoutHeadingsAtEnd(blocks: readonly Block[]): readonly Block[] {
  const end = blocks.findLastIndex(({ type }) => type !== 'heading') + 1
  return end === 0 ? blocks : blocks.slice(0, end)
}

// The text beside the blocks, for notifications and screen readers: the beginning of the same words.

const more = ' …'

function fallbackText(blocks: readonly Block[], options: BlocksOptions): string {
  const text = mrkdwnText(blocks, options)
  if (text.length <= limits.fallback) return text
  const start = text.slice(0, cutPoint(text, limits.fallback - more.length))
  // Half a token or half a reference would be seen as such.
  const whole = start.replace(/<[^<>]*$|&[a-z]*$/, '')
  return `${whole.trimEnd()}${more}`
}

// The platform's own table, and tables that are longer than it may be.

function isNativeTable(block: Block): block is Table {
  return block.type === 'table' && block.align.length <= limits.tableColumns && block.align.length > 0
}

function tableBlock(table: Table, options: BlocksOptions): JsonObject {
  return {
    type: 'table',
    column_settings: table.align.map((align) => ({ align: align ?? 'left', is_wrapped: true })),
    rows: table.children.map((row) => row.children.map((cell) => cellBlock(cell, options))),
  }
}

/** Several tables with the same header where one would have too many rows. */
function splitLongTables(root: Root): Root {
  const children = root.children.flatMap((block): readonly Block[] =>
    block.type === 'table' ? shortTables(block) : [block],
  )
  return { type: 'root', children }
}

function shortTables(table: Table): readonly Table[] {
  const [header, ...rows] = table.children
  if (header === undefined || table.children.length <= limits.tableRows) return [table]
  const room = limits.tableRows - 1
  return Array.from({ length: Math.ceil(rows.length / room) }, (_, index) => ({
    ...table,
    children: [header, ...rows.slice(index * room, (index + 1) * room)],
  }))
}

/** Always rich text: the platform refuses an empty cell and has failed on plain ones. */
function cellBlock(cell: TableCell, options: BlocksOptions): JsonObject {
  const words = richInline(cell.children, options)
  const elements = words.length === 0 ? [textElement(' ')] : words
  return { type: 'rich_text', elements: [{ type: 'rich_text_section', elements }] }
}

// Which of the platform's blocks carries a block of the tree, and how many characters it counts for.

type BlockMapping = 'header' | 'table' | 'divider' | 'rich_text'

const deepestHeader = 3

function chooseBlockMapping(block: Block, options: BlocksOptions): BlockMapping {
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
function platformBlocks(blocks: readonly Block[], options: BlocksOptions): readonly JsonObject[] {
  const result: JsonObject[] = []
  let rich: Block[] = []
  const close = () => {
    const elements = richElements(rich, { options, isQuoted: false, indent: 0 })
    if (elements.length > 0) result.push({ type: 'rich_text', elements })
    rich = []
  }
  for (const block of blocks) {
    const mapping = chooseBlockMapping(block, options)
    if (mapping === 'rich_text') {
      rich.push(block)
      continue
    }
    close()
    if (mapping === 'divider') result.push({ type: 'divider' })
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

function createBlockMeasure(options: BlocksOptions): (blocks: readonly Block[]) => number {
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

// A policy part as a section with a button: what is asked, where to go, and the id the answer is found by.

const buttonId = 'policy'

/** The terms stay with us: `value` holds nothing but the id of the state. `origin` is the agent's own, where it is known. */
export function policyBlocks(policy: Policy, { origin }: { readonly origin?: string } = {}): readonly JsonObject[] {
  const sections = policyTexts(policy).map(
    (text): JsonObject => ({ type: 'section', text: { type: 'mrkdwn', text, verbatim: true } }),
  )
  const button = policyButton(policy, origin)
  const last = sections.at(-1)
  if (button === undefined || last === undefined) return sections
  return [...sections.slice(0, -1), { ...last, accessory: button }]
}

function policyTexts(policy: Policy): readonly string[] {
  const title = policyText(policy['title'])
  const children: Block[] = title === '' ? [] : [policyParagraph([{ type: 'strong', children: textWithBreaks(title) }])]
  return renderMrkdwn(
    { type: 'root', children: [...children, policyParagraph(textWithBreaks(policyText(policy.message)))] },
    limits.section,
  )
}

function policyButton(policy: Policy, origin: string | undefined): JsonObject | undefined {
  const action = policyAction(policy, origin)
  if (action === undefined || action.url.length > limits.url) return undefined
  const state = policy['state']
  const isCarried = typeof state === 'string' && state !== '' && state.length <= limits.buttonValue
  const label = action.label.slice(0, limits.buttonText).trim().toWellFormed()
  return {
    type: 'button',
    action_id: buttonId,
    text: { type: 'plain_text', text: label, emoji: false },
    url: action.url,
    ...(isCarried ? { value: state } : {}),
  }
}

function policyParagraph(children: readonly Inline[]): Block {
  return { type: 'paragraph', children }
}

function textWithBreaks(text: string): readonly Inline[] {
  return text
    .split('\n')
    .flatMap((value, index): readonly Inline[] =>
      index === 0 ? [{ type: 'text', value }] : [{ type: 'break' }, { type: 'text', value }],
    )
}
