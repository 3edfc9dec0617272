// The tree without what a post cannot show: tables become lists, and addresses that are not of the web become words.

import { inlineText } from '../table/inline-text.ts'
import { tableAsList } from '../table/table-as-list.ts'
import type { Block, Inline, Link, ListItem, Root } from '../tree.ts'

export function noteTree(root: Root): Root {
  return { type: 'root', children: root.children.map(noteBlock) }
}

function noteBlock(block: Block): Block {
  switch (block.type) {
    case 'paragraph':
    case 'heading':
      return { ...block, children: block.children.flatMap(noteInline) }
    case 'blockquote':
      return { ...block, children: block.children.map(noteBlock) }
    case 'list':
      return { ...block, children: block.children.map(noteItem) }
    case 'table':
      return noteBlock(tableAsList(block))
    case 'code':
    case 'thematicBreak':
      return block
    default:
      return block satisfies never
  }
}

function noteItem(item: ListItem): ListItem {
  return { ...item, children: item.children.map(noteBlock) }
}

function noteInline(node: Inline): readonly Inline[] {
  switch (node.type) {
    case 'strong':
    case 'emphasis':
    case 'delete':
      return [{ ...node, children: node.children.flatMap(noteInline) }]
    case 'link':
      return /^https?:/i.test(node.url) ? [node] : addressAsWords(node)
    case 'text':
    case 'inlineCode':
    case 'break':
    case 'mention':
      return [node]
    default:
      return node satisfies never
  }
}

/** The address behind its label, unless the label says it already. */
function addressAsWords({ url, children }: Link): readonly Inline[] {
  const address = url.slice(url.indexOf(':') + 1)
  const label = inlineText(children).trim()
  if (label === '') return [{ type: 'text', value: address }]
  return label === address || label === url ? children : [...children, { type: 'text', value: ` (${address})` }]
}
