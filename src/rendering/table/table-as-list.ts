// A table as a list, one item for each row and in it a line for each column: for places that are narrow or have no table.
import type { Inline, List, ListItem, Table, TableCell, TableRow } from '../tree.ts'
import { lineText } from './inline-text.ts'

export function tableAsList(table: Table): List {
  const [header, ...rows] = table.children
  const labels = header?.children ?? []
  const items = rows.length === 0 ? [headerItem(labels)] : rows.map((row, index) => rowItem(labels, row, index === 0))
  return { type: 'list', ordered: false, start: 1, children: items }
}

function headerItem(labels: readonly TableCell[]): ListItem {
  return tableListItem(joinLines(labels.map((label) => label.children)))
}

/** Only the first row names columns that it leaves empty, so that no label is lost and none is repeated in vain. */
function rowItem(labels: readonly TableCell[], row: TableRow, isFirst: boolean): ListItem {
  const lines = row.children.flatMap((cell, column): (readonly Inline[])[] => {
    const label = labels[column]?.children ?? []
    if (lineText(cell.children) === '' && !isFirst) return []
    return [lineText(label) === '' ? cell.children : [...label, { type: 'text', value: ': ' }, ...cell.children]]
  })
  return tableListItem(joinLines(lines))
}

function joinLines(lines: readonly (readonly Inline[])[]): readonly Inline[] {
  return lines.flatMap((line, index): readonly Inline[] => (index === 0 ? line : [{ type: 'break' }, ...line]))
}

function tableListItem(children: readonly Inline[]): ListItem {
  return { type: 'listItem', checked: null, children: [{ type: 'paragraph', children }] }
}
