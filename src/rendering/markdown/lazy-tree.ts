// A tree that is parsed when it is first asked for, and once.
import type { Root } from '../tree.ts'
import { type MarkdownOptions, parseMarkdown } from './parse-markdown.ts'

export function createLazyTree(text: string, options: MarkdownOptions = {}): () => Root {
  let root: Root | undefined
  return () => {
    root ??= parseMarkdown(text, options)
    return root
  }
}
