// The tree as messages of Block Kit blocks, each within what Slack accepts, each with a text for notifications.
import type { Json, JsonObject } from '../../../src/lib/index.ts'
import {
  type Block,
  chunkTree,
  cutPoint,
  type Heading,
  type Inline,
  inlineText,
  isBlank,
  type List,
  lineText,
  type Root,
  sumOfBlocks,
  type Table,
  tableAsCode,
} from '../../../src/markdown/index.ts'
import { limits } from '../wire.ts'
import { type MentionOptions, mrkdwnText, resolveUserId, splitBroadcasts } from './mrkdwn.ts'

export type BlocksMessage = { readonly text: string; readonly blocks: readonly JsonObject[] }

export function renderBlocks(root: Root, options: MentionOptions = {}): readonly BlocksMessage[] {
  const whole = renderOneMessage(root.children, options)
  if (whole !== undefined) return [whole]
  const messages: BlocksMessage[] = []
  const sizeOf = sumOfBlocks((block) => measureBlock(block, options))
  for (const { children: piece } of chunkTree(splitLongTables(root), { limit: limits.message, sizeOf }))
    for (const children of groupSendableBlocks(piece, options)) {
      const text = fallbackText(children, options)
      const blocks = renderPlatformBlocks(children, options)
      if (text !== '' && blocks.length > 0) messages.push({ text, blocks })
    }
  return messages
}

/** Most replies fit one message as they are: what is sent is measured. Undefined: it has to be cut, or has nothing to say. */
function renderOneMessage(children: readonly Block[], options: MentionOptions): BlocksMessage | undefined {
  if (children.length > limits.blocks || children.every(isBlank)) return undefined
  // Tables have limits of their own.
  for (const { type } of children) if (type === 'table') return undefined
  const blocks = renderPlatformBlocks(children, options)
  // Never less than the sum by which a longer reply is cut.
  if (blocks.length === 0 || countJsonCharacters(blocks) + seam * children.length > limits.message) return undefined
  const text = fallbackText(children, options)
  return text === '' ? undefined : { text, blocks }
}

/** At most fifty blocks and one table in a message; a heading stays with what it is the heading of. */
function groupSendableBlocks(blocks: readonly Block[], options: MentionOptions): readonly (readonly Block[])[] {
  // A block of the tree becomes one of the platform's at most.
  if (blocks.length <= limits.blocks && !hasSeveralTables(blocks)) return [blocks]
  const groups: (readonly Block[])[] = []
  let open: Block[] = []
  let tally = nothing
  for (const block of blocks) {
    const next = addBlockToTally(tally, chooseBlockMapping(block, options))
    if (next.blocks <= limits.blocks && next.tables <= 1) {
      open.push(block)
      tally = next
      continue
    }
    const body = withoutHeadingsAtEnd(open)
    groups.push(body)
    open = [...open.slice(body.length), block]
    tally = open.reduce((sum, each) => addBlockToTally(sum, chooseBlockMapping(each, options)), nothing)
  }
  return open.length === 0 ? groups : [...groups, open]
}

function hasSeveralTables(blocks: readonly Block[]): boolean {
  let tables = 0
  for (const { type } of blocks) if (type === 'table') tables += 1
  return tables > 1
}

type Tally = { readonly blocks: number; readonly tables: number; readonly last?: BlockMapping }

const nothing: Tally = { blocks: 0, tables: 0 }

function addBlockToTally({ blocks, tables, last }: Tally, mapping: BlockMapping): Tally {
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

function fallbackText(blocks: readonly Block[], options: MentionOptions): string {
  const text = mrkdwnText(blocks, options)
  if (text.length <= limits.fallback) return text
  const start = text.slice(0, cutPoint(text, limits.fallback - more.length))
  // Half a token or half a reference would be seen as such.
  const whole = start.replace(/<[^<>]*$|&[a-z]*$/, '')
  return `${whole.trimEnd()}${more}`
}

// Which of the platform's blocks carries a block of the tree, and how many characters it counts for.

type BlockMapping = 'header' | 'table' | 'divider' | 'rich_text'

const deepestHeader = 3

function chooseBlockMapping(block: Block, options: MentionOptions): BlockMapping {
  switch (block.type) {
    case 'thematicBreak':
      return 'divider'
    case 'table':
      return block.align.length > 0 && block.align.length <= limits.tableColumns ? 'table' : 'rich_text'
    case 'heading':
      return fitsHeader(block, options) ? 'header' : 'rich_text'
    default:
      return 'rich_text'
  }
}

/** A header holds plain text only. */
function fitsHeader({ depth, children }: Heading, options: MentionOptions): boolean {
  const text = lineText(children)
  return depth <= deepestHeader && text !== '' && text.length <= limits.header && !hasNativeElements(children, options)
}

function hasNativeElements(children: readonly Inline[], options: MentionOptions): boolean {
  return children.some((node) => {
    if (node.type === 'link') return true
    if (node.type === 'mention') return resolveUserId(node.name, options) !== undefined
    if (node.type === 'text') return splitBroadcasts(node.value, options).length > 1
    return 'children' in node && hasNativeElements(node.children, options)
  })
}

/** Neighbouring blocks of rich text share one. */
function renderPlatformBlocks(blocks: readonly Block[], options: MentionOptions): readonly JsonObject[] {
  const result: JsonObject[] = []
  let rich: RichElement[] = []
  for (const block of blocks) {
    const mapping = chooseBlockMapping(block, options)
    if (mapping === 'rich_text') {
      const isOpen = rich.length > 0
      addRichElements([block], { options, isQuoted: false, indent: 0 }, rich)
      if (!isOpen && rich.length > 0) result.push({ type: 'rich_text', elements: rich })
      continue
    }
    rich = []
    if (mapping === 'divider') result.push({ type: 'divider' })
    else if (block.type === 'table') result.push(tableBlock(block, options))
    else if (block.type === 'heading') {
      const text = { type: 'plain_text', text: lineText(block.children), emoji: false }
      result.push({ type: 'header', text })
    }
  }
  return result
}

const counted: ReadonlySet<string> = new Set(['text', 'url', 'user_id', 'range'])
// Tables have a smaller limit of their own; counted this much larger, one that fits a message fits that too.
const tableWeight = limits.message / limits.tableCharacters
const seam = 2

function measureBlock(block: Block, options: MentionOptions): number {
  const characters = countJsonCharacters(renderPlatformBlocks([block], options))
  return seam + (chooseBlockMapping(block, options) === 'table' ? Math.ceil(characters * tableWeight) : characters)
}

/** What people read and where links lead; the names of fields are not counted. */
function countJsonCharacters(json: Json): number {
  if (json === null || typeof json !== 'object') return 0
  let sum = 0
  for (const [key, value] of Object.entries(json)) {
    sum += typeof value === 'string' ? (counted.has(key) ? value.length : 0) : countJsonCharacters(value)
  }
  return sum
}

// The platform's own table, and tables that are longer than it may be.

function tableBlock(table: Table, options: MentionOptions): JsonObject {
  return {
    type: 'table',
    column_settings: table.align.map((align) => ({ align: align ?? 'left', is_wrapped: true })),
    rows: table.children.map((row) =>
      row.children.map((cell) => {
        // Always rich text: the platform refuses an empty cell and has failed on plain ones.
        const words = inlineToRichElements(cell.children, options)
        const elements = words.length === 0 ? [textElement(' ')] : words
        return { type: 'rich_text', elements: [{ type: 'rich_text_section', elements }] }
      }),
    ),
  }
}

/** Several tables with the same header where one would have too many rows. */
function splitLongTables(root: Root): Root {
  const children: Block[] = []
  for (const block of root.children) {
    const [header, ...rows] = block.type === 'table' ? block.children : []
    if (block.type !== 'table' || header === undefined || rows.length < limits.tableRows) {
      children.push(block)
      continue
    }
    const room = limits.tableRows - 1
    for (let at = 0; at < rows.length; at += room)
      children.push({ ...block, children: [header, ...rows.slice(at, at + room)] })
  }
  return { type: 'root', children }
}

// Blocks as elements of a rich_text block: sections, lists, quotes, preformatted text.

type RichElement = { readonly type: string; readonly elements: JsonObject[]; readonly [field: string]: Json }

/** Where an element of rich text stands. */
type Place = { readonly options: MentionOptions; readonly isQuoted: boolean; readonly indent: number }

function addRichElements(blocks: readonly Block[], place: Place, into: RichElement[]): void {
  const { options } = place
  for (const block of blocks) {
    switch (block.type) {
      case 'paragraph':
        addRichParagraph(inlineToRichElements(block.children, options), place, into)
        break
      case 'heading':
        addRichParagraph(inlineToRichElements(block.children, options, bold), place, into)
        break
      case 'blockquote':
        addRichElements(block.children, { ...place, isQuoted: true }, into)
        break
      case 'list':
        addRichList(block, place, into)
        break
      case 'code': {
        const elements = [textElement(block.value === '' ? ' ' : block.value)]
        into.push({ type: 'rich_text_preformatted', elements, ...quoteBorder(place) })
        break
      }
      case 'table':
        addRichElements(tableAsCode(block), place, into)
        break
      case 'thematicBreak':
        addRichParagraph([textElement('———')], place, into)
        break
      default:
        block satisfies never
    }
  }
}

/** Neighbouring paragraphs are one element with an empty line in it, as the platform's own editor writes them. */
function addRichParagraph(words: JsonObject[], { isQuoted }: Place, into: RichElement[]): void {
  if (words.length === 0) return
  const type = isQuoted ? 'rich_text_quote' : 'rich_text_section'
  const last = into.at(-1)
  if (last?.type === type) last.elements.push(textElement('\n\n'), ...words)
  else into.push({ type, elements: words })
}

/** Quotes hold only text; a bar beside a list or a code block says that it is quoted too. */
function quoteBorder({ isQuoted }: Place): { readonly border?: 1 } {
  return isQuoted ? { border: 1 } : {}
}

/** Lists as the platform has them: flat lists one after another, each with its level and the number it starts from. */
function addRichList(list: List, place: Place, into: RichElement[]): void {
  // The platform counts from one; a list from zero gets its numbers as text.
  const isCounted = list.ordered && list.start >= 1
  let items: JsonObject[] | undefined
  for (const [index, { checked, children }] of list.children.entries()) {
    if (items === undefined) {
      items = []
      const offset = list.start - 1 + index
      into.push({
        type: 'rich_text_list',
        style: isCounted ? 'ordered' : 'bullet',
        indent: Math.min(place.indent, limits.indent),
        elements: items,
        ...(isCounted && offset > 0 ? { offset } : {}),
        ...quoteBorder(place),
      })
    }
    const number = list.ordered && !isCounted ? `${list.start + index}. ` : ''
    const task = checked === null ? '' : checked ? '☑ ' : '☐ '
    // The item's own lines, and what has to follow the list.
    const end = children.findIndex(({ type }) => type !== 'paragraph' && type !== 'heading')
    items.push(listItemElement(end === -1 ? children : children.slice(0, end), number + task, place))
    if (end === -1) continue
    // Nothing nests in the platform's list: it ends, and goes on counting after what stands inside this item.
    items = undefined
    addRichElements(children.slice(end), { ...place, indent: place.indent + 1 }, into)
  }
}

function listItemElement(lead: readonly Block[], marker: string, { options }: Place): JsonObject {
  const elements = marker === '' ? [] : [textElement(marker)]
  for (const [index, block] of lead.entries()) {
    if (index > 0) elements.push(textElement('\n'))
    if (block.type === 'paragraph') elements.push(...inlineToRichElements(block.children, options))
    if (block.type === 'heading') elements.push(...inlineToRichElements(block.children, options, bold))
  }
  return { type: 'rich_text_section', elements: elements.length === 0 ? [textElement(' ')] : elements }
}

// Inline nodes as elements of a rich_text section: the platform reads no markup in them, so nothing is escaped.

type Style = { readonly [mark in 'bold' | 'italic' | 'strike' | 'code']?: true }

/** Headings are bold where the platform has no heading; a mark inside cannot make them bolder. */
const bold: Style = { bold: true }

function inlineToRichElements(
  children: readonly Inline[],
  options: MentionOptions,
  style: Style = {},
  into: JsonObject[] = [],
): JsonObject[] {
  for (const node of children) {
    switch (node.type) {
      case 'text':
        for (const [index, piece] of splitBroadcasts(node.value, options).entries())
          appendInlineElement(index % 2 === 0 ? textElement(piece, style) : { type: 'broadcast', range: piece }, into)
        break
      case 'strong':
        inlineToRichElements(node.children, options, { ...style, bold: true }, into)
        break
      case 'emphasis':
        inlineToRichElements(node.children, options, { ...style, italic: true }, into)
        break
      case 'delete':
        inlineToRichElements(node.children, options, { ...style, strike: true }, into)
        break
      case 'inlineCode':
        appendInlineElement(textElement(node.value, { ...style, code: true }), into)
        break
      case 'break':
        appendInlineElement(textElement('\n', style), into)
        break
      case 'link': {
        // One element for each style in the label; a label notifies no user.
        const isBare = inlineText(node.children).trim() === ''
        const label = isBare ? [textElement(node.url, style)] : inlineToRichElements(node.children, {}, style)
        for (const element of label)
          appendInlineElement(
            node.url.length > limits.url ? element : { ...element, type: 'link', url: node.url },
            into,
          )
        break
      }
      case 'mention': {
        const id = resolveUserId(node.name, options)
        appendInlineElement(id === undefined ? textElement(node.name, style) : { type: 'user', user_id: id }, into)
        break
      }
      default:
        node satisfies never
    }
  }
  return into
}

/** Neighbours of one style are one text, and nothing is empty: the platform refuses empty texts. */
function appendInlineElement(element: JsonObject, into: JsonObject[]): void {
  const { type, text, style } = element
  if (text === '') return
  const last = into.at(-1)
  const isOneText =
    last?.['type'] === 'text' && type === 'text' && JSON.stringify(last['style']) === JSON.stringify(style)
  if (isOneText) into[into.length - 1] = { ...last, text: `${String(last['text'])}${String(text)}` }
  else into.push(element)
}

function textElement(text: string, style: Style = {}): JsonObject {
  return Object.keys(style).length === 0 ? { type: 'text', text } : { type: 'text', text, style }
}
