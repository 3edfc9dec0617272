// The links below inline nodes, for faces that must show a label without its address.
import type { Inline, Link, Table } from '../tree.ts'

function collectLinks(children: readonly Inline[]): readonly Link[] {
  return children.flatMap((node) => {
    if (node.type === 'link') return [node]
    return 'children' in node ? collectLinks(node.children) : []
  })
}

export function linksInTable(table: Table): readonly Link[] {
  return table.children.flatMap((row) => row.children.flatMap((cell) => collectLinks(cell.children)))
}
