// A text that is being written, and the ranges over it as they are closed.

import { inlineText } from './inline-text.ts'
import { safeUrl } from './links.ts'
import { alignedTable, tableAsCode, tableAsList } from './table.ts'
import type { Block, Code, Inline, Link, List, ListItem, Table } from './tree.ts'

/** Half open, not trimmed yet. `live` marks a name that may notify a user and is no formatting. */
export type Range =
  | { readonly type: 'bold' | 'italic' | 'strikethrough' | 'code' | 'blockquote' | 'live'; start: number; end: number }
  | { readonly type: 'pre'; readonly language?: string; start: number; end: number }
  | { readonly type: 'text_link'; readonly url: string; start: number; end: number }

export type Draft = { text: string; readonly ranges: Range[] }

/** What the reader of ranges calls bold, italic and struck out may not reach into code. */
const soft = new Set<string>(['bold', 'italic', 'strikethrough'])
const solid = new Set<string>(['code', 'pre'])

/** `inert` finds what would become a link or a call by itself; it is set as code unless it is `live`, code or a link already. */
export function finishDraft(
  draft: Draft,
  inert: RegExp | undefined,
): { readonly text: string; readonly entities: readonly Entity[] } {
  const lead = draft.text.length - draft.text.trimStart().length
  const text = draft.text.trim()
  const moved = draft.ranges.map((range) => ({ ...range, start: range.start - lead, end: range.end - lead }))
  const ranges = inert === undefined ? moved : [...moved, ...inertRanges(text, moved, inert)]
  const holes = ranges.filter(({ type }) => solid.has(type)).toSorted(byStart)
  const blockStarts = new Set(ranges.flatMap(({ type, start }) => (type === 'pre' ? [start] : [])))
  const entities = ranges
    .flatMap((range) => (soft.has(range.type) && holes.length > 0 ? subtractRanges(range, holes) : [range]))
    .flatMap((range) => rangeToEntities(text, range, blockStarts))
  return { text, entities: entities.toSorted(outerFirst) }
}

/** Of two ranges over the same words, the one that may hold the other. */
const ranks: readonly string[] = ['blockquote', 'bold', 'italic', 'strikethrough', 'text_link', 'code', 'pre']

function outerFirst(one: Entity, other: Entity): number {
  return one.offset - other.offset || other.length - one.length || ranks.indexOf(one.type) - ranks.indexOf(other.type)
}

function byStart(one: Range, other: Range): number {
  return one.start - other.start
}

function inertRanges(text: string, ranges: readonly Range[], inert: RegExp): readonly Range[] {
  const taken = ranges
    .filter(({ type }) => solid.has(type) || type === 'live' || type === 'text_link')
    .toSorted(byStart)
  const found: Range[] = []
  let next = 0
  for (const { 0: words, index } of text.matchAll(inert)) {
    while (next < taken.length && (taken[next]?.end ?? 0) <= index) next += 1
    const isTaken = (taken[next]?.start ?? text.length) < index + words.length
    if (!isTaken) found.push({ type: 'code', start: index, end: index + words.length })
  }
  return found
}

function subtractRanges(range: Range, holes: readonly Range[]): readonly Range[] {
  const parts: Range[] = []
  let start = range.start
  for (const hole of holes) {
    if (hole.end <= start) continue
    if (hole.start >= range.end) break
    parts.push({ ...range, start, end: hole.start })
    start = hole.end
  }
  return [...parts, { ...range, start }]
}

/** Without white space at its ends; nothing where nothing is left. */
function rangeToEntities(text: string, range: Range, blockStarts: ReadonlySet<number>): readonly Entity[] {
  let start = Math.max(0, range.start)
  let end = Math.min(text.length, range.end)
  // Of code only what hangs over is cut: its indentation is part of it, also of what begins with it.
  while (start < end && text.charAt(start).trim() === '' && !blockStarts.has(start)) start += 1
  while (start < end && text.charAt(end - 1).trim() === '') end -= 1
  if (start >= end) return []
  const place = { offset: start, length: end - start }
  switch (range.type) {
    case 'live':
      return []
    case 'pre':
      return [{ type: 'pre', ...place, ...(range.language === undefined ? {} : { language: range.language }) }]
    case 'text_link':
      return [{ type: 'text_link', ...place, url: range.url }]
    default:
      return [{ type: range.type, ...place }]
  }
}

// Text with ranges: formatting beside the words instead of in them, so that no word can become markup.

/** `offset` and `length` are UTF-16 units. */
export type Entity =
  | {
      readonly type: 'bold' | 'italic' | 'strikethrough' | 'code' | 'blockquote'
      readonly offset: number
      readonly length: number
    }
  | { readonly type: 'pre'; readonly offset: number; readonly length: number; readonly language?: string }
  | { readonly type: 'text_link'; readonly offset: number; readonly length: number; readonly url: string }

export type EntityPiece = { readonly text: string; readonly entities: readonly Entity[] }

// Blocks into a text with ranges: what a chat has no block for is written so that it reads like one.

/** `indent` begins every line but the first; `isQuoted` tells of a quote around; where `isPlain`, no range will be seen. */
type BlockScene = { readonly indent: string; readonly isQuoted: boolean; readonly isPlain: boolean }

// Wider tables break their lines on a narrow screen and stop being tables.
const maxTableWidth = 60
const maxColumns = 8

export function writeBlocks(draft: Draft, blocks: readonly Block[], scene: BlockScene, between = '\n\n'): void {
  for (const [index, block] of blocks.entries()) {
    if (index > 0) draft.text += between + scene.indent
    writeBlock(draft, block, scene)
  }
}

function writeBlock(draft: Draft, block: Block, scene: BlockScene): void {
  switch (block.type) {
    case 'paragraph':
      writeInline(draft, block.children, { ...scene, marks: [] })
      break
    case 'heading':
      writeMarked(draft, 'bold', block.children, { ...scene, marks: [] })
      break
    case 'code':
      writeCode(draft, block, scene)
      break
    case 'blockquote':
      writeQuote(draft, block.children, scene)
      break
    case 'list':
      writeList(draft, block, scene)
      break
    case 'table':
      writeTableText(draft, block, scene)
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
function writeQuote(draft: Draft, children: readonly Block[], scene: BlockScene): void {
  if (scene.isQuoted) {
    draft.text += '> '
    writeBlocks(draft, children, { ...scene, indent: `${scene.indent}> ` }, '\n')
    return
  }
  const written = draft.ranges.length
  let start = draft.text.length
  writeBlocks(draft, children, { ...scene, isQuoted: true })
  // Code that comes first has moved to the margin, and a range may not begin inside another.
  for (const range of draft.ranges.slice(written)) start = Math.min(start, range.start)
  draft.ranges.push({ type: 'blockquote', start, end: draft.text.length })
}

function writeList(draft: Draft, list: List, scene: BlockScene): void {
  for (const [index, item] of list.children.entries()) {
    if (index > 0) draft.text += `\n${scene.indent}`
    draft.text += listMarker(list, item, index)
    writeBlocks(draft, item.children, { ...scene, indent: `${scene.indent}  ` }, '\n')
  }
}

function listMarker(list: List, { checked }: ListItem, index: number): string {
  if (checked !== null) return checked ? '☑ ' : '☐ '
  return list.ordered ? `${list.start + index}. ` : '• '
}

function writeTableText(draft: Draft, table: Table, scene: BlockScene): void {
  const width = alignedTable(table).indexOf('\n')
  const isNarrow = table.align.length <= maxColumns && width <= maxTableWidth
  if (isNarrow) writeBlocks(draft, tableAsCode(table), scene)
  else writeList(draft, tableAsList(table), scene)
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

function writeInline(draft: Draft, nodes: readonly Inline[], scene: InlineScene): void {
  for (const node of nodes) writeNode(draft, node, scene)
}

function writeNode(draft: Draft, node: Inline, scene: InlineScene): void {
  const start = draft.text.length
  switch (node.type) {
    case 'text':
      draft.text += node.value
      break
    case 'break':
      draft.text += `\n${scene.indent}`
      break
    case 'mention':
      draft.text += node.name
      draft.ranges.push({ type: 'live', start, end: draft.text.length })
      break
    case 'inlineCode':
      draft.text += node.value
      // A link cannot hold code, and is worth more.
      if (scene.isLink !== true) draft.ranges.push({ type: 'code', start, end: draft.text.length })
      break
    case 'link':
      writeLink(draft, node, scene)
      break
    case 'strong':
    case 'emphasis':
    case 'delete':
      writeMarked(draft, marks[node.type], node.children, scene)
      break
    default:
      node satisfies never
  }
}

/** Bold inside bold is bold once. */
function writeMarked(draft: Draft, mark: MarkType, nodes: readonly Inline[], scene: InlineScene): void {
  if (scene.marks.includes(mark)) {
    writeInline(draft, nodes, scene)
    return
  }
  const start = draft.text.length
  writeInline(draft, nodes, { ...scene, marks: [...scene.marks, mark] })
  draft.ranges.push({ type: mark, start, end: draft.text.length })
}

/** Ranges lead to web pages only; any other address is shown. Plain text shows them all. */
function writeLink(draft: Draft, { url, children }: Link, scene: InlineScene): void {
  const start = draft.text.length
  writeInline(draft, children, { ...scene, isLink: true })
  if (url.startsWith('http') && !scene.isPlain) {
    draft.ranges.push({ type: 'text_link', url, start, end: draft.text.length })
    return
  }
  const address = url.startsWith('http') ? url : url.slice(url.indexOf(':') + 1)
  const label = inlineText(children)
  if (!label.includes(address) && safeUrl(label) !== url) draft.text += ` (${address})`
}
