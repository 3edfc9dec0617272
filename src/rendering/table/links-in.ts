// The links below inline nodes, for faces that must show a label without its address.
import type { Inline, Link, Table } from '../tree.ts'

function linksIn(children: readonly Inline[]): readonly Link[] {
  return children.flatMap((node) => {
    if (node.type === 'link') return [node]
    return 'children' in node ? linksIn(node.children) : []
  })
}

export function linksInTable(table: Table): readonly Link[] {
  return table.children.flatMap((row) => row.children.flatMap((cell) => linksIn(cell.children)))
}
