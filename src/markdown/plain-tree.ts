// Text that is no Markdown as a tree: paragraphs and line ends as they are written, every character
// kept, and addresses as links that say themselves.

import { cleanText } from '../lib/clean-text.ts'
import { linkMentions, linkUrlsInText } from './links.ts'
import type { Block, Inline, Root } from './tree.ts'

// A paragraph of more lines is none; cutting it into several keeps every step over it short.
const maxLines = 500

const noRecipients: ReadonlySet<string> = new Set()

export function plainTree(
  text: string,
  { mayNotify = noRecipients }: { readonly mayNotify?: ReadonlySet<string> } = {},
): Root {
  return { type: 'root', children: plainTextToBlocks(cleanTextForDisplay(text), mayNotify) }
}

/** `text` is clean already. */
export function plainTextToBlocks(text: string, mayNotify = noRecipients): readonly Block[] {
  const mayMention = mayNotify.size > 0 && text.includes('@')
  const wordsToNodes = (words: string): readonly Inline[] =>
    mayMention ? linkMentions(words, mayNotify) : [{ type: 'text', value: words }]
  const blocks: Block[] = []
  let children: Inline[] = []
  let lines = 0
  for (const line of text.split('\n')) {
    const words = line.trimEnd()
    if (words === '' || lines === maxLines) lines = 0
    if (words === '') continue
    if (lines > 0) children.push({ type: 'break' })
    else {
      children = []
      blocks.push({ type: 'paragraph', children })
    }
    if (words.includes('://')) children.push(...linkUrlsInText(words, wordsToNodes))
    else if (mayMention) children.push(...linkMentions(words, mayNotify))
    else children.push({ type: 'text', value: words })
    lines += 1
  }
  return blocks
}

// Text as any channel may carry it: without control characters, direction overrides and broken surrogates.

const hidden = /[\u0001-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/

export function cleanTextForDisplay(text: string): string {
  const lines = text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text
  return stripControlCharacters(cleanText(lines))
}

/** For what was decoded later, when the text as a whole is clean. */
export function stripControlCharacters(text: string): string {
  return hidden.test(text) ? text.replace(new RegExp(hidden, 'g'), '') : text
}
