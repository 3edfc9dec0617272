// Blocks into a text with ranges: what a chat has no block for is written so that it reads like one.
import { alignedTable } from '../table/aligned-table.ts'
import { tableAsCode } from '../table/table-as-code.ts'
import { tableAsList } from '../table/table-as-list.ts'
import type { Block, Code, List, ListItem, Table } from '../tree.ts'
import type { Draft } from './draft.ts'
import { writeInline, writeMarked } from './write-inline.ts'

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
