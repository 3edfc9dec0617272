// Inline tokens to inline nodes.
import { stripControlCharacters } from '../shown-text.ts'
import type { Inline } from '../tree.ts'
import { footnoteNumber, type NoteNumbers } from './footnotes.ts'
import { createInlineBuilder, type InlineBuilder, type Mark } from './inline-builder.ts'
import type { Token } from './markdown-parser.ts'
import { withMentions } from './mentions.ts'

/** What is known about the text as a whole while its tree is built. */
export type Building = {
  readonly mayNotify: ReadonlySet<string>
  readonly notes: NoteNumbers
  /** Labels of definitions that a link used. */
  readonly used: Set<string>
}

/** On one line, and in a label, a line end is a space. */
export function inlineTree(inline: Token, building: Building, isOneLine: boolean): readonly Inline[] {
  const { mayNotify } = building
  const builder = createInlineBuilder((words) =>
    mayNotify.size > 0 && words.includes('@') ? withMentions(words, mayNotify) : [{ type: 'text', value: words }],
  )
  const addBreak = () => (isOneLine || builder.isInLink() ? builder.words(' ') : builder.node({ type: 'break' }))
  if (inline.children === null) addLines(inline.content, builder, addBreak)
  else {
    for (const token of inline.children) {
      if (token.type === 'softbreak' || token.type === 'hardbreak') addBreak()
      else addToken(token, builder, building)
    }
  }
  return builder.finish()
}

export function footnoteLabel(token: Token): string {
  return String(token.meta?.['label'] ?? '')
}

function addLines(text: string, builder: InlineBuilder, addBreak: () => void): void {
  for (const [index, line] of text.split('\n').entries()) {
    if (index > 0) addBreak()
    builder.words(index > 0 ? line.trimStart() : line)
  }
}

const marks: Readonly<Record<string, Mark>> = { strong_open: 'strong', em_open: 'emphasis', s_open: 'delete' }

function addToken(token: Token, builder: InlineBuilder, building: Building): void {
  const mark = marks[token.type]
  if (mark !== undefined) builder.open(mark)
  else if (token.nesting < 0) builder.close()
  else if (token.type === 'text') builder.words(token.content)
  else if (token.type === 'text_special') builder.words(stripControlCharacters(token.content))
  else if (token.type === 'code_inline') builder.node({ type: 'inlineCode', value: token.content })
  else if (token.type === 'note_name') builder.words(`[${footnoteNumber(building.notes, footnoteLabel(token))}]`)
  else if (token.type === 'image') addImage(token, builder, building)
  else if (token.type === 'link_open') {
    building.used.add(footnoteLabel(token))
    builder.open('link', String(token.attrGet('href') ?? ''))
  } else builder.words(token.content)
}

/** No channel fetches a picture because a model named it: it is a link with its description. */
function addImage(token: Token, builder: InlineBuilder, { used }: Building): void {
  used.add(footnoteLabel(token))
  const url = String(token.attrGet('src') ?? '')
  const label = stripControlCharacters(tokensToText(token.children ?? [])).trim()
  if (builder.isInLink()) builder.words(label === '' ? url : label)
  else {
    builder.open('link', url)
    builder.words(label)
    builder.close()
  }
}

function tokensToText(tokens: readonly Token[]): string {
  return tokens
    .map((token) => {
      if (token.type === 'softbreak' || token.type === 'hardbreak') return ' '
      return token.children === null ? token.content : tokensToText(token.children)
    })
    .join('')
}
