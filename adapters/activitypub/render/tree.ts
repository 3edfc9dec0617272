// All words of a tree, in reading order. Pure.
import type { Block, Inline, Root } from '../../../src/rendering/index.ts'

export function inlinesIn({ children }: Root): readonly Inline[] {
  return children.flatMap(inBlock)
}

function inBlock(block: Block): readonly Inline[] {
  switch (block.type) {
    case 'paragraph':
    case 'heading':
      return block.children.flatMap(inInline)
    case 'blockquote':
      return block.children.flatMap(inBlock)
    case 'list':
      return block.children.flatMap(({ children }) => children.flatMap(inBlock))
    case 'table':
      return block.children.flatMap((row) => row.children.flatMap(({ children }) => children.flatMap(inInline)))
    case 'code':
    case 'thematicBreak':
      return []
    default:
      return block satisfies never
  }
}

function inInline(node: Inline): readonly Inline[] {
  return 'children' in node ? [node, ...node.children.flatMap(inInline)] : [node]
}
