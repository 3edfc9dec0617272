// Text that is no Markdown as a tree: paragraphs and line ends as they are written, every character kept.
import { shownText } from './shown-text.ts'
import type { Block, Inline, Root } from './tree.ts'

// A paragraph of more lines is none; cutting it into several keeps every step over it short.
const maxLines = 500

export function plainTree(text: string): Root {
  return { type: 'root', children: plainBlocks(shownText(text)) }
}

/** `text` is clean already. */
export function plainBlocks(text: string): readonly Block[] {
  const blocks: Block[] = []
  let children: Inline[] = []
  let lines = 0
  const finish = () => {
    if (lines > 0) blocks.push({ type: 'paragraph', children })
    children = []
    lines = 0
  }
  for (const line of text.split('\n')) {
    if (line.trim() === '' || lines === maxLines) finish()
    if (line.trim() === '') continue
    if (lines > 0) children.push({ type: 'break' })
    children.push({ type: 'text', value: line.trimEnd() })
    lines += 1
  }
  finish()
  return blocks
}
