// Markdown as models write it to the one tree: linear in time, capped in depth and size, no word lost.

import { safeUrl } from './links.ts'
import { type Building, footnoteLabel, inlineTokenToNodes } from './parse-inline.ts'
import { getFootnoteNumbers, getOrAssignFootnoteNumber, markdownTokens, type Token } from './parser-rules.ts'
import { cleanTextForDisplay, plainTextToBlocks } from './plain-tree.ts'
import type { Align, Block, Heading, Inline, ListItem, Root, TableRow } from './tree.ts'

type MarkdownOptions = {
  /** Names as they are written, in small letters, that may reach whom they name. */
  readonly mayNotify?: ReadonlySet<string>
}

/** What comes after these many nodes is text. */
const maxNodes = 5000
// Without any of these a text is paragraphs and line ends.
const markup = /[`*_~[\]<>&|\\#@]|:\/\/|^(?: {0,3}(?:[-+=]|\d{1,9}[.)])| {4}|\t)/m

export function parseMarkdown(text: string, options: MarkdownOptions = {}): Root {
  const clean = cleanTextForDisplay(text)
  if (!markup.test(clean)) return { type: 'root', children: plainTextToBlocks(clean) }
  const env: Record<string, unknown> = {}
  const tokens = markdownTokens(clean, env)
  const building: Building = {
    mayNotify: options.mayNotify ?? new Set(),
    notes: getFootnoteNumbers(env),
    used: new Set(),
  }
  const children: Block[] = []
  const notes: NoteTree[] = []
  const definitions: Definition[] = []
  let nodes = 0
  readBlocks(tokens, building, {
    block(block, line, count) {
      nodes += count
      if (nodes <= maxNodes) children.push(block)
      else children.push(...plainTextToBlocks(sliceFromLine(clean, line), building.mayNotify))
      return nodes <= maxNodes
    },
    rest: (line) => void children.push(...plainTextToBlocks(sliceFromLine(clean, line), building.mayNotify)),
    note: (note) => void notes.push(note),
    definition: (definition) => void definitions.push(definition),
  })
  return {
    type: 'root',
    children: [
      ...children,
      ...footnotesToParagraphs(notes, building),
      ...unusedDefinitionsToParagraphs(definitions, clean, building),
    ],
  }
}

function sliceFromLine(text: string, line: number): string {
  let at = 0
  for (let passed = 0; passed < line; passed += 1) at = text.indexOf('\n', at) + 1
  return text.slice(at)
}

/** Notes in the order of their numbers; one that is not referred to comes last. */
function footnotesToParagraphs(notes: readonly NoteTree[], { notes: numbers }: Building): readonly Block[] {
  const numbered = notes.map((note) => ({ number: getOrAssignFootnoteNumber(numbers, note.label), note }))
  return numbered
    .toSorted((one, other) => one.number - other.number)
    .map(({ number, note }) => ({ type: 'paragraph', children: prependText(`[${number}] `, note.children) }))
}

function prependText(lead: string, children: readonly Inline[]): readonly Inline[] {
  const [first, ...rest] = children
  return first?.type === 'text'
    ? [{ type: 'text', value: lead + first.value }, ...rest]
    : [{ type: 'text', value: lead }, ...children]
}

const written = /^[\s>]*\[((?:[^\\[\]]|\\.)*)\]:\s*<?([^\s>]*)/

/** An address that no link uses is shown: it was written to be read. */
function unusedDefinitionsToParagraphs(
  definitions: readonly Definition[],
  text: string,
  { used }: Building,
): readonly Block[] {
  const left = definitions.filter(({ label }) => !used.has(label))
  if (left.length === 0) return []
  const lines = text.split('\n')
  return left.flatMap(({ line }): readonly Block[] => {
    const [, label = '', address = ''] = written.exec(`${lines[line]}\n${lines[line + 1] ?? ''}`) ?? []
    const url = safeUrl(address)
    const shown: Inline = { type: 'text', value: address }
    const link: Inline = url === undefined ? shown : { type: 'link', url, children: [shown] }
    return [{ type: 'paragraph', children: [{ type: 'text', value: `[${label}]: ` }, link] }]
  })
}

// Block tokens to block nodes, iteratively: nesting is the text's choice and must not be our stack's.

type NoteTree = { readonly label: string; readonly children: readonly Inline[] }
/** A link definition as it is written, for the case that no link used it. */
type Definition = { readonly label: string; readonly line: number }

export type BlockSink = {
  /** A block of the text itself is complete; `line` is where it began. */
  readonly block: (block: Block, line: number, nodes: number) => boolean
  /** From this line on nothing was read. */
  readonly rest: (line: number) => void
  readonly note: (note: NoteTree) => void
  readonly definition: (definition: Definition) => void
}

/** A container that is being filled; rows and cells are kept with their table. */
type Frame = {
  readonly token: Token
  readonly children: Block[]
  readonly items: ListItem[]
  readonly rows: TableRow[]
  readonly align: Align[]
  cells: TableRow['children'][number][]
  inline: readonly Inline[]
}

const languageUnits = /[^A-Za-z0-9+#._-]/g

/** Feeds the sink until it has enough. */
export function readBlocks(tokens: readonly Token[], building: Building, sink: BlockSink): void {
  const frames: Frame[] = []
  let nodes = 0
  let line = 0
  const addBlock = (block: Block | undefined): boolean => {
    if (block === undefined) return true
    nodes += 1
    const parent = frames.at(-1)
    if (parent !== undefined) {
      parent.children.push(block)
      return true
    }
    const isWanted = sink.block(block, line, nodes)
    nodes = 0
    return isWanted
  }
  for (const token of tokens) {
    if (frames.length === 0 && token.map !== null) line = token.map[0]
    if (token.type === 'rest') {
      nodes = Number.POSITIVE_INFINITY
      if (frames.length > 0) continue
      sink.rest(line)
      return
    } else if (token.type === 'inline') {
      const frame = frames.at(-1)
      const inline = inlineTokenToNodes(token, building, frame?.token.type === 'heading_open')
      nodes += countInlineNodes(inline)
      if (frame !== undefined) frame.inline = inline
    } else if (token.type === 'reference_definition')
      sink.definition({ label: footnoteLabel(token), line: token.map?.[0] ?? 0 })
    else if (isTablePartToken(token)) addTablePartToFrame(token, frames.at(-1))
    else if (token.nesting > 0) frames.push(openFrame(token))
    else if (token.nesting < 0) {
      const frame = frames.pop()
      if (frame?.token.type === 'note_open') sink.note({ label: footnoteLabel(frame.token), children: frame.inline })
      else if (frame?.token.type === 'list_item_open') frames.at(-1)?.items.push(listItem(frame))
      else if (frame !== undefined && !addBlock(closeFrameToBlock(frame))) return
    } else if (!addBlock(leafTokenToBlock(token))) return
  }
}

function openFrame(token: Token): Frame {
  return { token, children: [], items: [], rows: [], align: [], cells: [], inline: [] }
}

function isTablePartToken({ tag }: Token): boolean {
  return tag === 'td' || tag === 'th' || tag === 'tr' || tag === 'thead' || tag === 'tbody'
}

function addTablePartToFrame(token: Token, table: Frame | undefined): void {
  if (table === undefined) return
  if (token.type === 'th_open') table.align.push(cellAlignment(token))
  if (token.type === 'th_close' || token.type === 'td_close') {
    table.cells.push({ type: 'tableCell', children: table.inline })
    table.inline = []
  }
  if (token.type === 'tr_close') {
    table.rows.push({ type: 'tableRow', children: table.cells })
    table.cells = []
  }
}

function cellAlignment(token: Token): Align {
  const style = String(token.attrGet('style') ?? '')
  if (style.endsWith('left')) return 'left'
  if (style.endsWith('center')) return 'center'
  return style.endsWith('right') ? 'right' : null
}

function closeFrameToBlock(frame: Frame): Block | undefined {
  const { token, children, inline } = frame
  switch (token.type) {
    case 'paragraph_open':
      return inline.length === 0 ? undefined : { type: 'paragraph', children: inline }
    case 'heading_open':
      return { type: 'heading', depth: headingDepth(token), children: inline }
    case 'blockquote_open':
      return children.length === 0 ? undefined : { type: 'blockquote', children }
    case 'bullet_list_open':
      return { type: 'list', ordered: false, start: 1, children: frame.items }
    case 'ordered_list_open':
      return { type: 'list', ordered: true, start: Number(token.attrGet('start') ?? 1), children: frame.items }
    case 'table_open':
      return { type: 'table', align: frame.align, children: frame.rows }
    default:
      return undefined
  }
}

function leafTokenToBlock(token: Token): Block | undefined {
  switch (token.type) {
    case 'hr':
      return { type: 'thematicBreak' }
    case 'code_block':
      return { type: 'code', value: withoutLastNewline(token.content) }
    case 'fence': {
      const lang = (token.info.trim().split(/\s/)[0] ?? '').replace(languageUnits, '').slice(0, 32)
      return { type: 'code', ...(lang === '' ? {} : { lang }), value: withoutLastNewline(token.content) }
    }
    default:
      return undefined
  }
}

function withoutLastNewline(text: string): string {
  return text.endsWith('\n') ? text.slice(0, -1) : text
}

function headingDepth({ tag }: Token): Heading['depth'] {
  const depths = [1, 2, 3, 4, 5, 6] as const
  return depths.find((depth) => tag === `h${depth}`) ?? 6
}

const task = /^\[([ xX])\][ \t\u00a0]+/

function listItem({ children }: Frame): ListItem {
  const [first, ...rest] = children
  const [start, ...others] = first?.type === 'paragraph' ? first.children : []
  const box = start?.type === 'text' ? task.exec(start.value) : null
  if (start?.type !== 'text' || box === null) return { type: 'listItem', checked: null, children }
  const left = start.value.slice(box[0].length)
  const words: readonly Inline[] = left === '' ? others : [{ type: 'text', value: left }, ...others]
  if (words.length === 0) return { type: 'listItem', checked: null, children }
  return { type: 'listItem', checked: box[1] !== ' ', children: [{ type: 'paragraph', children: words }, ...rest] }
}

function countInlineNodes(nodes: readonly Inline[]): number {
  let count = 0
  for (const node of nodes) count += 'children' in node ? 1 + countInlineNodes(node.children) : 1
  return count
}

// A tree that is parsed when it is first asked for, and once.

export function createLazyTree(text: string, options: MarkdownOptions = {}): () => Root {
  let root: Root | undefined
  return () => {
    root ??= parseMarkdown(text, options)
    return root
  }
}
