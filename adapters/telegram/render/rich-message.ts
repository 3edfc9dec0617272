// A piece of a reply as a rich message: blocks, so that no character of the words can become markup. Pure.
import type { Block, Inline, ListItem, Table } from '../../../src/markdown/index.ts'
import type { RichBlock, RichMessage, RichWords } from '../wire/calls.ts'

/** For what: nothing, tables, or everything that has a form of its own there. */
export type RichUse = 'off' | 'tables' | 'all'

const maxColumns = 20
const maxBlocks = 500
const maxDepth = 14

/** Undefined: it is better, or only possible, as text with ranges. */
export function renderRichMessage(blocks: readonly Block[], use: RichUse): RichMessage | undefined {
  const wanted = use === 'off' ? [] : use === 'tables' ? ['table'] : ['table', 'heading', 'list', 'thematicBreak']
  if (!blocks.some((block) => wanted.includes(block.type)) || !fitsRichLimits(blocks)) return undefined
  // What Telegram would find by itself is not looked for: names and commands stay words.
  return { blocks: blocks.map(toRichBlock), skip_entity_detection: true }
}

function fitsRichLimits(blocks: readonly Block[]): boolean {
  const countBlocks = (all: readonly Block[], depth: number): number =>
    all.reduce((sum, block) => sum + countBlock(block, depth), 0)
  const countBlock = (block: Block, depth: number): number => {
    if (depth > maxDepth) return maxBlocks + 1
    switch (block.type) {
      case 'table':
        return block.align.length > maxColumns ? maxBlocks + 1 : 1 + block.children.length
      case 'list':
        return 1 + block.children.reduce((sum, item) => sum + 1 + countBlocks(item.children, depth + 2), 0)
      case 'blockquote':
        return 1 + countBlocks(block.children, depth + 1)
      default:
        return 1
    }
  }
  return countBlocks(blocks, 0) <= maxBlocks
}

function toRichBlock(block: Block): RichBlock {
  switch (block.type) {
    case 'paragraph':
      return { type: 'paragraph', text: inlinesToRichText(block.children) }
    case 'heading':
      return { type: 'heading', size: block.depth, text: inlinesToRichText(block.children) }
    case 'code':
      return { type: 'pre', text: block.value, ...(block.lang === undefined ? {} : { language: block.lang }) }
    case 'blockquote':
      return { type: 'blockquote', blocks: block.children.map(toRichBlock) }
    case 'list':
      return {
        type: 'list',
        items: block.children.map((item, index) => toRichItem(item, block.ordered ? block.start + index : undefined)),
      }
    case 'table':
      return toRichTable(block)
    case 'thematicBreak':
      return { type: 'divider' }
    default:
      return block satisfies never
  }
}

function toRichItem(
  { checked, children }: ListItem,
  value: number | undefined,
): Extract<RichBlock, { type: 'list' }>['items'][number] {
  return {
    blocks: children.map(toRichBlock),
    ...(checked === null ? {} : { has_checkbox: true as const }),
    ...(checked === true ? { is_checked: true as const } : {}),
    ...(value === undefined ? {} : { value, type: '1' as const }),
  }
}

function toRichTable({ align, children }: Table): RichBlock {
  const cells = children.map((row, line) =>
    row.children.map((cell, column) => ({
      text: inlinesToRichText(cell.children),
      ...(line === 0 ? { is_header: true as const } : {}),
      align: align[column] ?? ('left' as const),
      valign: 'top' as const,
    })),
  )
  return { type: 'table', cells, is_bordered: true, is_striped: true }
}

function inlinesToRichText(nodes: readonly Inline[]): RichWords {
  const written = nodes.map(toRichInline)
  return written.length === 1 && written[0] !== undefined ? written[0] : written
}

function toRichInline(node: Inline): RichWords {
  switch (node.type) {
    case 'text':
      return node.value
    case 'break':
      return '\n'
    case 'strong':
      return { type: 'bold', text: inlinesToRichText(node.children) }
    case 'emphasis':
      return { type: 'italic', text: inlinesToRichText(node.children) }
    case 'delete':
      return { type: 'strikethrough', text: inlinesToRichText(node.children) }
    case 'inlineCode':
      return { type: 'code', text: node.value }
    case 'link':
      return { type: 'url', text: inlinesToRichText(node.children), url: node.url }
    case 'mention':
      return { type: 'mention', text: node.name, username: node.name.replace(/^@/, '') }
    default:
      return node satisfies never
  }
}
