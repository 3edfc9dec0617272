// The words of a post without its tags, as its length is counted.
import { inlineText } from '../table/inline-text.ts'
import { tableAsList } from '../table/table-as-list.ts'
import type { Block, List } from '../tree.ts'

export function noteText(blocks: readonly Block[]): string {
  return blocks.map(blockToNoteText).join('\n\n')
}

function blockToNoteText(block: Block): string {
  switch (block.type) {
    case 'paragraph':
    case 'heading':
      return inlineText(block.children)
    case 'blockquote':
      return noteText(block.children)
    case 'list':
      return listToNoteText(block)
    case 'code':
      return block.value
    case 'table':
      return listToNoteText(tableAsList(block))
    case 'thematicBreak':
      return '———'
    default:
      return block satisfies never
  }
}

/** With the marks that readers see before an item, which some servers count. */
function listToNoteText(list: List): string {
  return list.children
    .map(({ checked, children }, index) => {
      const box = checked === null ? '' : checked ? '☑ ' : '☐ '
      return `${list.ordered ? `${list.start + index}. ` : '• '}${box}${children.map(blockToNoteText).join('\n')}`
    })
    .join('\n')
}
