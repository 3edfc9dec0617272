// Text that is no Markdown as a tree: paragraphs and line ends as they are written, every character kept.
import { withMentions } from './markdown/mentions.ts'
import { shownText } from './shown-text.ts'
import type { Block, Inline, Root } from './tree.ts'

// A paragraph of more lines is none; cutting it into several keeps every step over it short.
const maxLines = 500

const nobody: ReadonlySet<string> = new Set()

export function plainTree(
  text: string,
  { mayNotify = nobody }: { readonly mayNotify?: ReadonlySet<string> } = {},
): Root {
  return { type: 'root', children: plainBlocks(shownText(text), mayNotify) }
}

/** `text` is clean already. */
export function plainBlocks(text: string, mayNotify = nobody): readonly Block[] {
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
    const words = line.trimEnd()
    if (mayNotify.size > 0 && words.includes('@')) children.push(...withMentions(words, mayNotify))
    else children.push({ type: 'text', value: words })
    lines += 1
  }
  finish()
  return blocks
}
