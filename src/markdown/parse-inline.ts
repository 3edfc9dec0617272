// Inline tokens to inline nodes.

import { linkMentions, safeUrl } from './links.ts'
import { getOrAssignFootnoteNumber, type NoteNumbers, type Token } from './parser-rules.ts'
import { stripControlCharacters } from './plain-tree.ts'
import { type Inline, inlineText } from './tree.ts'
/** What is known about the text as a whole while its tree is built. */
export type Building = {
  readonly mayNotify: ReadonlySet<string>
  readonly notes: NoteNumbers
  /** Labels of definitions that a link used. */
  readonly used: Set<string>
}

/** On one line, and in a label, a line end is a space. */
export function inlineTokenToNodes(inline: Token, building: Building, isOneLine: boolean): readonly Inline[] {
  const { mayNotify } = building
  const builder = createInlineBuilder((words) =>
    mayNotify.size > 0 && words.includes('@') ? linkMentions(words, mayNotify) : [{ type: 'text', value: words }],
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
  else if (token.type === 'note_name')
    builder.words(`[${getOrAssignFootnoteNumber(building.notes, footnoteLabel(token))}]`)
  else if (token.type === 'image') addImageAsLink(token, builder, building)
  else if (token.type === 'link_open') {
    building.used.add(footnoteLabel(token))
    builder.open('link', String(token.attrGet('href') ?? ''))
  } else builder.words(token.content)
}

/** No channel fetches a picture because a model named it: it is a link with its description. */
function addImageAsLink(token: Token, builder: InlineBuilder, { used }: Building): void {
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

// Inline nodes are put together as tokens come: no empty mark, no mark inside its own kind, no link inside a link, and words that
// touch are one text.

type Mark = 'strong' | 'emphasis' | 'delete' | 'link'

type InlineBuilder = {
  readonly words: (text: string) => void
  readonly node: (node: Inline) => void
  readonly open: (mark: Mark, url?: string) => void
  readonly close: () => void
  readonly isInLink: () => boolean
  readonly finish: () => readonly Inline[]
}

/** `mark` is absent where a mark is passed over and its words go to the mark around it. */
type Frame = { readonly mark?: Mark; readonly url: string; readonly children: Inline[] }

/** Marks inside each other; deeper ones leave their words to the mark around them. */
const maxMarks = 8

function createInlineBuilder(textNodes: (words: string) => readonly Inline[]): InlineBuilder {
  const root: Frame = { url: '', children: [] }
  const frames: Frame[] = []
  let pending = ''
  const topFrame = () => frames.at(-1) ?? root
  const isInsideMark = (mark: Mark) => frames.some((frame) => frame.mark === mark)
  const flushText = () => {
    if (pending === '') return
    const nodes: readonly Inline[] = isInsideMark('link') ? [{ type: 'text', value: pending }] : textNodes(pending)
    for (const node of nodes) appendInline(topFrame().children, node)
    pending = ''
  }
  const closeFrame = () => {
    const frame = frames.at(-1)
    if (frame?.mark !== undefined) flushText()
    frames.pop()
    if (frame?.mark !== undefined) appendMarkOrLink(frame.mark, frame, topFrame().children)
  }
  return {
    words(text) {
      pending += text
    },
    node(node) {
      if (node.type === 'break') pending = pending.trimEnd()
      flushText()
      // An empty line inside a paragraph would end it.
      if (node.type === 'break' && isAtLineStart(topFrame().children)) return
      appendInline(topFrame().children, node)
    },
    open(mark, url = '') {
      const isKept = !isInsideMark(mark) && frames.length < maxMarks
      if (isKept) flushText()
      frames.push(isKept ? { mark, url, children: [] } : { url, children: topFrame().children })
    },
    close: closeFrame,
    isInLink: () => isInsideMark('link'),
    finish() {
      while (frames.length > 0) closeFrame()
      flushText()
      if (root.children.at(-1)?.type === 'break') root.children.pop()
      return root.children
    },
  }
}

function isAtLineStart(nodes: readonly Inline[]): boolean {
  const last = nodes.at(-1)
  return last === undefined || last.type === 'break'
}

function appendMarkOrLink(mark: Mark, { url, children }: Frame, into: Inline[]): void {
  if (mark !== 'link') {
    if (children.length > 0) appendInline(into, { type: mark, children })
    return
  }
  const safe = safeUrl(url)
  // An invisible link would be lost with its address.
  const label: readonly Inline[] = inlineText(children).trim() === '' ? [{ type: 'text', value: url }] : children
  if (safe !== undefined) appendInline(into, { type: 'link', url: safe, children: label })
  else for (const child of label) appendInline(into, child)
}

/** Neighbours that would read as one node are one. */
function appendInline(into: Inline[], node: Inline): void {
  const last = into.at(-1)
  if (node.type === 'text' && node.value === '') return
  if (last?.type === 'text' && node.type === 'text') {
    into[into.length - 1] = { type: 'text', value: last.value + node.value }
  } else if (
    last !== undefined &&
    last.type === node.type &&
    isStrongEmphasisOrDelete(last) &&
    isStrongEmphasisOrDelete(node)
  ) {
    const children = [...last.children]
    for (const child of node.children) appendInline(children, child)
    into[into.length - 1] = { type: last.type, children }
  } else into.push(node)
}

function isStrongEmphasisOrDelete(
  node: Inline,
): node is Extract<Inline, { readonly type: 'strong' | 'emphasis' | 'delete' }> {
  return node.type === 'strong' || node.type === 'emphasis' || node.type === 'delete'
}
