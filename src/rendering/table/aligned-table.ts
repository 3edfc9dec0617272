// A table for a fixed-width font, where a platform has none of its own.
import type { Align, Table, TableCell } from '../tree.ts'
import { displayWidth } from './display-width.ts'
import { inlineText } from './inline-text.ts'

// A longer cell sticks out of its column instead of making every row that long.
const maxColumnWidth = 40
const gap = '  '

/** Header, a line, rows; no line ends in spaces. */
export function alignedTable(table: Table, textOf: (cell: TableCell) => string = cellText): string {
  const rows = table.children.map((row) => row.children.map((cell) => collapseWhitespace(textOf(cell))))
  const widths = table.align.map((_, column) => columnWidth(rows, column))
  const line = (cells: readonly string[]) =>
    widths
      .map((width, column) => padded(cells[column] ?? '', width, table.align[column] ?? null))
      .join(gap)
      .trimEnd()
  const [header = [], ...body] = rows
  return [line(header), widths.map((width) => '-'.repeat(width)).join(gap), ...body.map(line)].join('\n')
}

function cellText({ children }: TableCell): string {
  return inlineText(children)
}

function collapseWhitespace(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

function columnWidth(rows: readonly (readonly string[])[], column: number): number {
  let width = 1
  for (const row of rows) width = Math.max(width, displayWidth(row[column] ?? ''))
  return Math.min(width, maxColumnWidth)
}

function padded(text: string, width: number, align: Align): string {
  const missing = Math.max(0, width - displayWidth(text))
  if (align === 'right') return ' '.repeat(missing) + text
  if (align !== 'center') return text + ' '.repeat(missing)
  const left = Math.floor(missing / 2)
  return ' '.repeat(left) + text + ' '.repeat(missing - left)
}
