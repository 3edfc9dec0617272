// A text that is being written, and the ranges over it as they are closed.

import { safeUrl } from './links.ts'
import { alignedTable, tableAsCode, tableAsList } from './table.ts'
import {
  type Block,
  type Code,
  type Inline,
  inlineText,
  type Link,
  type List,
  type ListItem,
  type Table,
} from './tree.ts'
/** Half open, not trimmed yet. `live` marks a name that may notify a user and is no formatting. */
export type Range =
  | { readonly type: 'bold' | 'italic' | 'strikethrough' | 'code' | 'blockquote' | 'live'; start: number; end: number }
  | { readonly type: 'pre'; readonly language?: string; start: number; end: number }
  | { readonly type: 'link'; readonly url: string; start: number; end: number }

export type Draft = { text: string; readonly ranges: Range[] }

// Blocks into a text with ranges: what a chat has no block for is written so that it reads like one.

/** `indent` begins every line but the first; `isQuoted` tells of a quote around; where `isPlain`, no range will be seen. */
type BlockScene = { readonly indent: string; readonly isQuoted: boolean; readonly isPlain: boolean }

// Wider tables break their lines on a narrow screen and stop being tables.
const maxTableWidth = 60
const maxColumns = 8

export function writeBlocks(draft: Draft, blocks: readonly Block[], context: BlockScene, between = '\n\n'): void {
  for (const [index, block] of blocks.entries()) {
    if (index > 0) draft.text += between + context.indent
    writeBlock(draft, block, context)
  }
}

function writeBlock(draft: Draft, block: Block, context: BlockScene): void {
  switch (block.type) {
    case 'paragraph':
      writeInline(draft, block.children, { ...context, marks: [] })
      break
    case 'heading':
      writeMarkedInline(draft, 'bold', block.children, { ...context, marks: [] })
      break
    case 'code':
      writeCode(draft, block, context)
      break
    case 'blockquote':
      writeQuote(draft, block.children, context)
      break
    case 'list':
      writeList(draft, block, context)
      break
    case 'table':
      writeTableText(draft, block, context)
      break
    case 'thematicBreak':
      draft.text += '———'
      break
    default:
      block satisfies never
  }
}

function writeCode(draft: Draft, { value, lang }: Code, { indent, isPlain }: BlockScene): void {
  if (isPlain) {
    draft.text += value.replaceAll('\n', `\n${indent}`)
    return
  }
  // Code in a range stands at the margin: an indented first line would be out of step with the others.
  const margin = draft.text.lastIndexOf('\n') + 1
  if (draft.text.slice(margin).trim() === '') draft.text = draft.text.slice(0, margin)
  const start = draft.text.length
  draft.text += value
  draft.ranges.push({ type: 'pre', ...(lang === undefined ? {} : { language: lang }), start, end: draft.text.length })
}

/** One quote is a range; a quote inside it shows its mark. */
function writeQuote(draft: Draft, children: readonly Block[], context: BlockScene): void {
  if (context.isQuoted) {
    draft.text += '> '
    writeBlocks(draft, children, { ...context, indent: `${context.indent}> ` }, '\n')
    return
  }
  const written = draft.ranges.length
  let start = draft.text.length
  writeBlocks(draft, children, { ...context, isQuoted: true })
  // Code that comes first has moved to the margin, and a range may not begin inside another.
  for (const range of draft.ranges.slice(written)) start = Math.min(start, range.start)
  draft.ranges.push({ type: 'blockquote', start, end: draft.text.length })
}

function writeList(draft: Draft, list: List, context: BlockScene): void {
  for (const [index, item] of list.children.entries()) {
    if (index > 0) draft.text += `\n${context.indent}`
    draft.text += listMarker(list, item, index)
    writeBlocks(draft, item.children, { ...context, indent: `${context.indent}  ` }, '\n')
  }
}

function listMarker(list: List, { checked }: ListItem, index: number): string {
  if (checked !== null) return checked ? '☑ ' : '☐ '
  return list.ordered ? `${list.start + index}. ` : '• '
}

function writeTableText(draft: Draft, table: Table, context: BlockScene): void {
  const width = alignedTable(table).indexOf('\n')
  const isNarrow = table.align.length <= maxColumns && width <= maxTableWidth
  if (isNarrow) writeBlocks(draft, tableAsCode(table), context)
  else writeList(draft, tableAsList(table), context)
}

// Inline nodes into a text with ranges.

type MarkType = 'bold' | 'italic' | 'strikethrough'
const marks: Readonly<Record<'strong' | 'emphasis' | 'delete', MarkType>> = {
  strong: 'bold',
  emphasis: 'italic',
  delete: 'strikethrough',
}

export type InlineScene = {
  /** Begins every new line. */
  readonly indent: string
  /** The ranges that are open around the nodes. */
  readonly marks: readonly MarkType[]
  readonly isLink?: boolean
  /** No range will be seen. */
  readonly isPlain: boolean
}

function writeInline(draft: Draft, nodes: readonly Inline[], context: InlineScene): void {
  for (const node of nodes) writeNode(draft, node, context)
}

function writeNode(draft: Draft, node: Inline, context: InlineScene): void {
  const start = draft.text.length
  switch (node.type) {
    case 'text':
      draft.text += node.value
      break
    case 'break':
      draft.text += `\n${context.indent}`
      break
    case 'mention':
      draft.text += node.name
      draft.ranges.push({ type: 'live', start, end: draft.text.length })
      break
    case 'inlineCode':
      draft.text += node.value
      // A link cannot hold code, and is worth more.
      if (context.isLink !== true) draft.ranges.push({ type: 'code', start, end: draft.text.length })
      break
    case 'link':
      writeLink(draft, node, context)
      break
    case 'strong':
    case 'emphasis':
    case 'delete':
      writeMarkedInline(draft, marks[node.type], node.children, context)
      break
    default:
      node satisfies never
  }
}

/** Bold inside bold is bold once. */
function writeMarkedInline(draft: Draft, mark: MarkType, nodes: readonly Inline[], context: InlineScene): void {
  if (context.marks.includes(mark)) {
    writeInline(draft, nodes, context)
    return
  }
  const start = draft.text.length
  writeInline(draft, nodes, { ...context, marks: [...context.marks, mark] })
  draft.ranges.push({ type: mark, start, end: draft.text.length })
}

/** Ranges lead to web pages only; any other address is shown. Plain text shows them all. */
function writeLink(draft: Draft, { url, children }: Link, context: InlineScene): void {
  const start = draft.text.length
  writeInline(draft, children, { ...context, isLink: true })
  if (url.startsWith('http') && !context.isPlain) {
    draft.ranges.push({ type: 'link', url, start, end: draft.text.length })
    return
  }
  const address = url.startsWith('http') ? url : url.slice(url.indexOf(':') + 1)
  const label = inlineText(children)
  if (!label.includes(address) && safeUrl(label) !== url) draft.text += ` (${address})`
}
