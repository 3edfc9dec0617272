// Tables for places that have none: aligned in a fixed-width font, as preformatted text, or as a list.

import {
  type Align,
  type Block,
  type Inline,
  inlineText,
  type List,
  type ListItem,
  lineText,
  linksInTable,
  type Table,
  type TableCell,
  type TableRow,
} from './tree.ts'

// A longer cell sticks out of its column instead of making every row that long.
const maxColumnWidth = 40
const gap = '  '

/** Header, a line, rows; no line ends in spaces. */
export function alignedTable(table: Table, textOf: (cell: TableCell) => string = cellText): string {
  const rows = table.children.map((row) => row.children.map((cell) => collapseWhitespace(textOf(cell))))
  const widths = table.align.map((_, column) => columnWidth(rows, column))
  const formatRow = (cells: readonly string[]) =>
    widths
      .map((width, column) => padCell(cells[column] ?? '', width, table.align[column] ?? null))
      .join(gap)
      .trimEnd()
  const [header = [], ...body] = rows
  return [formatRow(header), widths.map((width) => '-'.repeat(width)).join(gap), ...body.map(formatRow)].join('\n')
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

function padCell(text: string, width: number, align: Align): string {
  const missing = Math.max(0, width - displayWidth(text))
  if (align === 'right') return ' '.repeat(missing) + text
  if (align !== 'center') return text + ' '.repeat(missing)
  const left = Math.floor(missing / 2)
  return ' '.repeat(left) + text + ' '.repeat(missing - left)
}

// How many columns a text takes in a fixed-width font: East Asian characters and emoji take two, combining marks none.

const onlyAscii = /^[\x20-\x7e]*$/
const withoutWidth = /[\p{Mn}\p{Me}\p{Cf}]/u
const wide =
  /[\p{Emoji_Presentation}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303f\uff01-\uff60\uffe0-\uffe6]/u
const joiner = '\u200d'

export function displayWidth(text: string): number {
  if (onlyAscii.test(text)) return text.length
  let width = 0
  let isJoined = false
  for (const character of text) {
    // A family is drawn as one figure, however many people are joined in it.
    if (!isJoined) width += characterWidth(character)
    isJoined = character === joiner
  }
  return width
}

function characterWidth(character: string): number {
  if (withoutWidth.test(character)) return 0
  return wide.test(character) ? 2 : 1
}

// A table as preformatted text with its links listed below it, for places that hold no table.

export function tableAsCode(table: Table): readonly Block[] {
  const code: Block = { type: 'code', value: alignedTable(table) }
  const links = linksInTable(table)
  if (links.length === 0) return [code]
  const lines = links.flatMap((link, index): readonly Inline[] => (index === 0 ? [link] : [{ type: 'break' }, link]))
  return [code, { type: 'paragraph', children: lines }]
}

// A table as a list, one item for each row and in it a line for each column: for places that are narrow or have no table.

export function tableAsList(table: Table): List {
  const [header, ...rows] = table.children
  const labels = header?.children ?? []
  const items =
    rows.length === 0 ? [headerToListItem(labels)] : rows.map((row, index) => rowToListItem(labels, row, index === 0))
  return { type: 'list', ordered: false, start: 1, children: items }
}

function headerToListItem(labels: readonly TableCell[]): ListItem {
  return tableListItem(joinWithBreaks(labels.map((label) => label.children)))
}

/** Only the first row names columns that it leaves empty, so that no label is lost and none is repeated in vain. */
function rowToListItem(labels: readonly TableCell[], row: TableRow, isFirst: boolean): ListItem {
  const lines = row.children.flatMap((cell, column): (readonly Inline[])[] => {
    const label = labels[column]?.children ?? []
    if (lineText(cell.children) === '' && !isFirst) return []
    return [lineText(label) === '' ? cell.children : [...label, { type: 'text', value: ': ' }, ...cell.children]]
  })
  return tableListItem(joinWithBreaks(lines))
}

function joinWithBreaks(lines: readonly (readonly Inline[])[]): readonly Inline[] {
  return lines.flatMap((line, index): readonly Inline[] => (index === 0 ? line : [{ type: 'break' }, ...line]))
}

function tableListItem(children: readonly Inline[]): ListItem {
  return { type: 'listItem', checked: null, children: [{ type: 'paragraph', children }] }
}
