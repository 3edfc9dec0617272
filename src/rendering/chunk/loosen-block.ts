// A block that no message can hold even in part, because its marks alone fill one: given up for its words.
import { graphemeBoundary } from '../cut-point.ts'
import { tableAsList } from '../table/table-as-list.ts'
import type { Block, Inline, Paragraph } from '../tree.ts'
import { from, inlineWindow, upTo } from './inline-window.ts'
import type { Taken } from './take-blocks.ts'

/** The same words with one kind of mark less, or the first character of plain words as a piece, whatever its size. */
export function loosened(block: Block): Taken {
  switch (block.type) {
    case 'paragraph':
      return loosenedParagraph(block)
    case 'heading':
      return { head: [], rest: [{ type: 'paragraph', children: block.children }] }
    case 'code':
      return { head: [], rest: codeLinesAsBlocks(block.value) }
    case 'blockquote':
      return { head: [], rest: block.children }
    case 'list':
      return { head: [], rest: block.children.flatMap((item) => item.children) }
    case 'table':
      return { head: [], rest: [tableAsList(block)] }
    case 'thematicBreak':
      return { head: [], rest: [] }
    default:
      return block satisfies never
  }
}

function loosenedParagraph({ children }: Paragraph): Taken {
  if (children.some((node) => node.type !== 'text' && node.type !== 'break')) {
    return { head: [], rest: [{ type: 'paragraph', children: children.flatMap(splitIntoWords) }] }
  }
  const { text } = inlineWindow(children, 64)
  const cut = graphemeBoundary(text, 1)
  const rest = from(children, cut)
  return {
    head: [{ type: 'paragraph', children: upTo(children, cut) }],
    rest: rest.length === 0 ? [] : [{ type: 'paragraph', children: rest }],
  }
}

function splitIntoWords(node: Inline): readonly Inline[] {
  switch (node.type) {
    case 'text':
    case 'break':
      return [node]
    case 'inlineCode':
      return [{ type: 'text', value: node.value }]
    case 'mention':
      return [{ type: 'text', value: node.name }]
    case 'link': {
      const isShown = inlineWindow(node.children, node.url.length).text === node.url
      return [
        ...node.children.flatMap(splitIntoWords),
        ...(isShown ? [] : [{ type: 'text', value: ` (${node.url})` } as const]),
      ]
    }
    case 'strong':
    case 'emphasis':
    case 'delete':
      return node.children.flatMap(splitIntoWords)
    default:
      return node satisfies never
  }
}

function codeLinesAsBlocks(code: string): readonly Block[] {
  const lines = code.split('\n').filter((line) => line.trim() !== '')
  return lines.map((line) => ({ type: 'paragraph', children: [{ type: 'text', value: line }] }))
}
