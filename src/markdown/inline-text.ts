// The text and the links of inline nodes, without any formatting.
import type { Inline, Link, Table } from './tree.ts'

export function inlineText(children: readonly Inline[]): string {
  return children.map(inlineNodeText).join('')
}

/** On one line, for places that hold no line end: a cell, a header, a label. */
export function lineText(children: readonly Inline[]): string {
  return inlineText(children).replace(/\s+/g, ' ').trim()
}

function inlineNodeText(node: Inline): string {
  switch (node.type) {
    case 'text':
    case 'inlineCode':
      return node.value
    case 'strong':
    case 'emphasis':
    case 'delete':
      return inlineText(node.children)
    case 'link':
      return linkLabel(node)
    case 'break':
      return '\n'
    case 'mention':
      return node.name
    default:
      return node satisfies never
  }
}

/** A link without a label shows its address. */
function linkLabel({ url, children }: Link): string {
  const label = inlineText(children)
  return label.trim() === '' ? url : label
}

function collectLinks(children: readonly Inline[]): readonly Link[] {
  return children.flatMap((node) => {
    if (node.type === 'link') return [node]
    return 'children' in node ? collectLinks(node.children) : []
  })
}

export function linksInTable(table: Table): readonly Link[] {
  return table.children.flatMap((row) => row.children.flatMap((cell) => collectLinks(cell.children)))
}
