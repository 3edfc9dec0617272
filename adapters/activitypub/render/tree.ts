// All words of a tree, in reading order. Pure.
import type { Block, Inline, Root } from '../../../src/markdown/index.ts'

export function listInlines({ children }: Root): readonly Inline[] {
  return children.flatMap(blockInlines)
}

function blockInlines(block: Block): readonly Inline[] {
  switch (block.type) {
    case 'paragraph':
    case 'heading':
      return block.children.flatMap(nestedInlines)
    case 'blockquote':
      return block.children.flatMap(blockInlines)
    case 'list':
      return block.children.flatMap(({ children }) => children.flatMap(blockInlines))
    case 'table':
      return block.children.flatMap((row) => row.children.flatMap(({ children }) => children.flatMap(nestedInlines)))
    case 'code':
    case 'thematicBreak':
      return []
    default:
      return block satisfies never
  }
}

function nestedInlines(node: Inline): readonly Inline[] {
  return 'children' in node ? [node, ...node.children.flatMap(nestedInlines)] : [node]
}
