// The text half of a mail: wrapped lines, links as numbered notes, tables aligned or, where they are too wide, as lists.
import { alignedTable } from '../table/aligned-table.ts'
import { displayWidth } from '../table/display-width.ts'
import { tableAsList } from '../table/table-as-list.ts'
import type { Block, Heading, List, Root, Table } from '../tree.ts'
import { createLinkNotes, type LinkNotes } from './link-notes.ts'
import { mailInline } from './mail-inline.ts'
import { wrapText } from './wrap-text.ts'

const columns = 78
const narrowest = 20

type Page = { readonly notes: LinkNotes; readonly columns: number; readonly isInItem: boolean }

export function mailText(root: Root): string {
  const notes = createLinkNotes()
  const body = blocksLines(root.children, { notes, columns, isInItem: false })
  const list = notes.lines()
  const lines = list.length === 0 ? body : [...body, '', ...list]
  return lines.map(trimMailLine).join('\n')
}

/** A line of its own never starts as a mailbox separates its messages, and none ends in spaces or a bare CR. */
function trimMailLine(line: string): string {
  const text = line.replaceAll('\r', '').trimEnd()
  return text.startsWith('From ') ? ` ${text}` : text
}

function blocksLines(blocks: readonly Block[], page: Page): readonly string[] {
  const lines: string[] = []
  for (const block of blocks) {
    const own = blockLines(block, page)
    const isBelowItsItem = page.isInItem && block.type === 'list'
    if (lines.length > 0 && own.length > 0 && !isBelowItsItem) lines.push('')
    for (const line of own) lines.push(line)
  }
  return lines
}

function blockLines(block: Block, page: Page): readonly string[] {
  switch (block.type) {
    case 'paragraph':
      return wrapText(mailInline(block.children, page.notes), page.columns)
    case 'heading':
      return headingLines(block, page)
    case 'blockquote':
      return indentedLines(block.children, { ...page, isInItem: false }, 2).map((line) => `> ${line}`)
    case 'list':
      return listLines(block, page)
    case 'code':
      return block.value.split('\n').map((line) => `    ${line}`)
    case 'table':
      return tableLines(block, page)
    case 'thematicBreak':
      return ['-'.repeat(Math.min(40, page.columns))]
    default:
      return block satisfies never
  }
}

function headingLines({ depth, children }: Heading, page: Page): readonly string[] {
  const lines = wrapText(mailInline(children, page.notes), page.columns)
  if (depth > 2) return lines
  const width = Math.max(1, ...lines.map(displayWidth))
  return [...lines, (depth === 1 ? '=' : '-').repeat(Math.min(width, page.columns))]
}

function listLines(list: List, page: Page): readonly string[] {
  return list.children.flatMap(({ checked, children }, index) => {
    const marker = list.ordered ? `${list.start + index}. ` : '- '
    const box = checked === null ? '' : checked ? '[x] ' : '[ ] '
    const lines = indentedLines(children, { ...page, isInItem: true }, marker.length + box.length)
    const [first = '', ...rest] = lines
    return [`${marker}${box}${first}`, ...rest.map((line) => ' '.repeat(marker.length) + line)]
  })
}

function tableLines(table: Table, page: Page): readonly string[] {
  const lines = alignedTable(table, ({ children }) => mailInline(children, page.notes)).split('\n')
  return lines.every((line) => displayWidth(line) <= page.columns) ? lines : listLines(tableAsList(table), page)
}

function indentedLines(blocks: readonly Block[], page: Page, used: number): readonly string[] {
  return blocksLines(blocks, { ...page, columns: Math.max(narrowest, page.columns - used) })
}
