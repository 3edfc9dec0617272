// The tree of a text that is still growing: what is half open at its end is closed or held back, so that no mark flashes.
import { parseMarkdown } from '../markdown/parse-markdown.ts'
import type { Root } from '../tree.ts'
import { closedTail } from './closed-tail.ts'
import { growingText } from './growing-text.ts'

export function streamTree(text: string, { isFinal }: { readonly isFinal: boolean }): Root {
  return parseMarkdown(isFinal ? text : closedTail(growingText(text)))
}
