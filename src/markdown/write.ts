// Writes the tree as Markdown, for agents and run APIs. Canonical and safe: read again it gives the same tree.
import { chunkTree } from './chunk.ts'
import { safeUrl } from './links.ts'
import {
  type Block,
  type Heading,
  type Inline,
  inlineText,
  type Link,
  type List,
  type ListItem,
  type Root,
  type Table,
  type TableRow,
} from './tree.ts'

export function writeMarkdown(root: Root): string {
  return blocksMarkdown(root.children)
}

/** Pieces of at most `limit` UTF-16 units. */
export function renderMarkdown(root: Root, limit: number): readonly string[] {
  const pieces = chunkTree(root, { limit, sizeOf: (blocks) => blocksMarkdown(blocks).length })
  return pieces.flatMap((piece) => {
    const written = writeMarkdown(piece)
    // What is escaped depends on what stands beside it, so a piece may be longer than its parts: it is cut once more.
    const excess = written.length - limit
    return excess > 0 && excess < limit ? renderMarkdown(piece, limit - excess) : [written]
  })
}

function blocksMarkdown(blocks: readonly Block[]): string {
  let isOther = false
  let written = ''
  for (const [index, block] of blocks.entries()) {
    const previous = blocks[index - 1]
    // Two lists side by side are told apart by their marks.
    const isSame = block.type === 'list' && previous?.type === 'list' && previous.ordered === block.ordered
    isOther = isSame && !isOther
    if (previous !== undefined) written += '\n\n'
    written += block.type === 'list' ? listMarkdown(block, isOther) : blockMarkdown(block)
  }
  return written
}

function blockMarkdown(block: Exclude<Block, List>): string {
  switch (block.type) {
    case 'paragraph':
      return inlineMarkdown(block.children)
    case 'heading':
      return headingMarkdown(block)
    case 'code': {
      const fence = backtickFenceFor(block.value, 3)
      const body = block.value === '' ? '' : `${block.value}\n`
      return `${fence}${block.lang ?? ''}\n${body}${fence}`
    }
    case 'blockquote':
      return mapLines(blocksMarkdown(block.children), (line) => (line === '' ? '>' : `> ${line}`))
    case 'table':
      return tableMarkdown(block)
    case 'thematicBreak':
      return '___'
    default:
      return block satisfies never
  }
}

function headingMarkdown({ depth, children }: Heading): string {
  const words = inlineMarkdown(children).replaceAll('  \n', ' ')
  // A row of # at the end would be taken for the heading's own.
  return `${'#'.repeat(depth)} ${words.replace(/(^|\s)(#+)$/, '$1\\$2')}`.trimEnd()
}

function listMarkdown(list: List, isOther: boolean): string {
  const itemMarker = (index: number) =>
    list.ordered ? `${list.start + index}${isOther ? ')' : '.'} ` : isOther ? '* ' : '- '
  return list.children.map((item, index) => itemMarkdown(item, itemMarker(index))).join('\n')
}

function itemMarkdown({ checked: box, children: blocks }: ListItem, mark: string): string {
  // A box stands before words; where there are none it is one itself.
  const hasWords = blocks[0]?.type === 'paragraph' && blocks[0].children.length > 0
  const checked = hasWords ? box : null
  const children = box === null || hasWords ? blocks : [checkboxBlock(box), ...blocks]
  const [first, second] = children
  const isTight =
    first?.type === 'paragraph' && children.length === 2 && second?.type === 'list' && canListInterruptParagraph(second)
  const body = isTight
    ? `${inlineMarkdown(first.children)}\n${blocksMarkdown(children.slice(1))}`
    : blocksMarkdown(children)
  const written = checked === null ? '' : checked ? '[x] ' : '[ ] '
  const words = checked === null ? body.replace(/^\[(?=[ xX]\]\s)/, '\\[') : body
  const indent = ' '.repeat(mark.length)
  return `${mark}${written}${mapLines(words, (line) => (line === '' ? '' : indent + line)).slice(indent.length)}`.trimEnd()
}

function checkboxBlock(checked: boolean): Block {
  return { type: 'paragraph', children: [{ type: 'text', value: checked ? '☑' : '☐' }] }
}

/** Only a list that begins at one and says something may follow a line of words at once (CommonMark 5.3). */
function canListInterruptParagraph(list: List): boolean {
  return (!list.ordered || list.start === 1) && (list.children[0]?.children.length ?? 0) > 0
}

const rules = { left: ':--', center: ':-:', right: '--:' } as const

function tableMarkdown({ align, children }: Table): string {
  const [header, ...rows] = children
  const rule = `| ${align.map((each) => (each === null ? '---' : rules[each])).join(' | ')} |`
  return [...(header === undefined ? [] : [rowMarkdown(header)]), rule, ...rows.map(rowMarkdown)].join('\n')
}

function rowMarkdown({ children }: TableRow): string {
  const cells = children.map((cell) => inlineMarkdown(cell.children).replaceAll('  \n', ' ').replaceAll('|', '\\|'))
  return `| ${cells.join(' | ')} |`
}

function mapLines(text: string, change: (line: string) => string): string {
  return text.split('\n').map(change).join('\n')
}

// Words that must stay words inside Markdown, with as few backslashes as that needs.

const rooms = /@(?=(?:all|channel|everyone|here)\b)/gi
const anywhere = /[\\`*]|_(?<![\p{L}\p{N}]_(?=[\p{L}\p{N}]))|~(?=~)|(?<=~)~|^~|~$|<(?=\S)|&(?=#?\w{1,32};)|!$/gu
// A bracket that is closed before anything that would make a link or a definition of it is only a bracket.
const bracket = /\[(?!(?!\^)[^[\]]*\](?:[^([:]|$))/g
const address = /(?<=https?):(?=\/\/)/gi

/** Inside a label every bracket counts. */
function escapeWords(text: string, isLabel: boolean): string {
  const escaped = text.replace(anywhere, '\\$&').replace(rooms, '&#64;')
  return isLabel ? escaped.replace(/[[\]]/g, '\\$&') : escaped.replace(bracket, '\\[').replace(address, '\\:')
}

const lineMark = /^(?:[-+](?=\s|$|[-\s]*$)|#(?=#{0,5}(?:\s|$))|>|=+\s*$|[|:-][-|:\s]*$)/
const number = /^(\d{1,9})([.)])(?=\s|$)/

/** What only means something at the start of a line. */
function escapeLineStart(line: string): string {
  return line.replace(lineMark, '\\$&').replace(number, '$1\\$2')
}

/** A character that is seen the same and read as punctuation. */
function toCharacterReference(character: string): string {
  return `&#${character.codePointAt(0) ?? 0xfffd};`
}

function codeSpan(value: string): string {
  const fence = backtickFenceFor(value, 1)
  const isPadded = /^`|`$/.test(value) || (/^ .* $/.test(value) && value.trim() !== '')
  return isPadded ? `${fence} ${value} ${fence}` : fence + value + fence
}

/** Longer than any run of backticks inside. */
function backtickFenceFor(value: string, atLeast: number): string {
  let longest = atLeast - 1
  for (const run of value.match(/`+/g) ?? []) longest = Math.max(longest, run.length)
  return '`'.repeat(longest + 1)
}

function escapeUrl(url: string): string {
  return url.replace(/[\\()<>]|&(?=#?\w{1,32};)/g, '\\$&').replace(/\s/g, '%20')
}

// Inline nodes as Markdown that every parser reads the same.

function inlineMarkdown(nodes: readonly Inline[]): string {
  return writeInlineNodes(nodes, false)
    .split('\n')
    .map((line) => escapeLineStart(encodeEndSpaces(line)))
    .join('  \n')
}

function writeInlineNodes(nodes: readonly Inline[], isLabel: boolean): string {
  const segments = toInlineSegments(nodes)
  const { marker, first, last } = chooseEmphasisDelimiters(segments)
  const writeSegment = (segment: Segment, index: number): string => {
    switch (segment.kind) {
      case 'words':
        return escapeTextRun(segment.text, { isLabel, isFirstHidden: first.has(index), isLastHidden: last.has(index) })
      case 'mark':
        return marker(segment)
      case 'piece':
        return writeUnsplittableNode(segment.node)
      default:
        return segment satisfies never
    }
  }
  return segments.map(writeSegment).join('')
}

type WordsOptions = { readonly isLabel: boolean; readonly isFirstHidden: boolean; readonly isLastHidden: boolean }

function escapeTextRun(text: string, { isLabel, isFirstHidden, isLastHidden }: WordsOptions): string {
  const start = isFirstHidden ? firstCharacter(text) : ''
  const rest = text.slice(start.length)
  const end = isLastHidden ? lastCharacter(rest) : ''
  const middle = escapeWords(rest.slice(0, rest.length - end.length), isLabel)
  return (start === '' ? '' : toCharacterReference(start)) + middle + (end === '' ? '' : toCharacterReference(end))
}

function writeUnsplittableNode(node: Extract<Segment, { kind: 'piece' }>['node']): string {
  if (node.type === 'break') return '\n'
  return node.type === 'inlineCode' ? codeSpan(node.value) : linkMarkdown(node)
}

// As CommonMark 6.5 allows it between angle brackets.
const bare = /^https?:\/\/[^\s<>\\&]+$/

function linkMarkdown({ url, children }: Link): string {
  const label = inlineText(children)
  const isBare = children.length === 1 && children[0]?.type === 'text' && bare.test(label) && safeUrl(label) === url
  if (isBare) return `<${label}>`
  const text = writeInlineNodes(children, true).split('\n').map(encodeEndSpaces).join(' ')
  return `[${text}](${escapeUrl(url)})`
}

/** Space at the ends of a line is no part of a paragraph, unless it is written as a reference. */
function encodeEndSpaces(line: string): string {
  const start = line.length - line.trimStart().length
  const end = Math.max(start, line.trimEnd().length)
  if (start === 0 && end === line.length) return line
  return (
    [...line.slice(0, start)].map(toCharacterReference).join('') +
    line.slice(start, end) +
    [...line.slice(end)].map(toCharacterReference).join('')
  )
}

// Inline nodes as one row of words, marks and finished pieces, each knowing what it stands beside.

type MarkType = 'strong' | 'emphasis' | 'delete'

type Segment =
  | { readonly kind: 'words'; readonly text: string }
  /** Written already; `first` and `last` are how it begins and ends. */
  | { readonly kind: 'piece'; readonly node: Extract<Inline, { type: 'inlineCode' | 'break' }> | Link }
  | {
      readonly kind: 'mark'
      readonly type: MarkType
      readonly isOpening: boolean
      readonly id: number
    }

function toInlineSegments(nodes: readonly Inline[]): readonly Segment[] {
  const segments: Segment[] = []
  const open = new Set<MarkType>()
  const addInlineSegments = (children: readonly Inline[]) => {
    for (const node of children) {
      switch (node.type) {
        case 'text':
          segments.push({ kind: 'words', text: node.value })
          break
        case 'mention':
          segments.push({ kind: 'words', text: node.name })
          break
        case 'inlineCode':
        case 'break':
        case 'link':
          segments.push({ kind: 'piece', node })
          break
        case 'strong':
        case 'emphasis':
        case 'delete': {
          const id = open.has(node.type) ? undefined : openMark(segments, node.type)
          open.add(node.type)
          addInlineSegments(node.children)
          if (id === undefined) break
          open.delete(node.type)
          segments.push({ kind: 'mark', type: node.type, isOpening: false, id })
          break
        }
        default:
          node satisfies never
      }
    }
  }
  addInlineSegments(nodes)
  return segments
}

/** Where the same mark was closed right before, it goes on. */
function openMark(segments: Segment[], type: MarkType): number {
  const last = segments.at(-1)
  if (last?.kind === 'mark' && last.type === type && !last.isOpening) {
    segments.pop()
    return last.id
  }
  const id = segments.length
  segments.push({ kind: 'mark', type, isOpening: true, id })
  return id
}

/** What a parser sees beside a mark: white space (also the end of the text), punctuation or a letter. */
type Beside = 'space' | 'punctuation' | 'letter'

function classifyNeighbour(segment: Segment | undefined, end: 'first' | 'last'): Beside {
  if (segment === undefined) return 'space'
  if (segment.kind === 'mark') return 'punctuation'
  if (segment.kind === 'piece') return segment.node.type === 'break' ? 'space' : 'punctuation'
  const character = end === 'first' ? firstCharacter(segment.text) : lastCharacter(segment.text)
  if (/^\s?$/.test(character)) return 'space'
  return /[\p{P}\p{S}]/u.test(character) ? 'punctuation' : 'letter'
}

function firstCharacter(text: string): string {
  return String.fromCodePoint(...(text === '' ? [] : [text.codePointAt(0) ?? 0]))
}

function lastCharacter(text: string): string {
  return /[\ud800-\udbff][\udc00-\udfff]$/.exec(text)?.[0] ?? text.slice(-1)
}

// How the marks of a row are written so that they open and close (CommonMark 6.2): emphasis with the character that can, and
// letters and spaces in the way as references.

export type Delimiters = {
  /** What a mark is written with, by its id. */
  readonly marker: (segment: Extract<Segment, { kind: 'mark' }>) => string
  /** Words whose first or last character is written as a reference. */
  readonly first: ReadonlySet<number>
  readonly last: ReadonlySet<number>
}

type Neighbours = { readonly outer: Beside; readonly inner: Beside; readonly isBesideMark: boolean }

function chooseEmphasisDelimiters(segments: readonly Segment[]): Delimiters {
  const starred = findEmphasesNeedingStar(segments)
  const first = new Set<number>()
  const last = new Set<number>()
  const chooseMarker: Delimiters['marker'] = ({ type, id }) => {
    if (type === 'strong') return '**'
    if (type === 'delete') return '~~'
    return starred.has(id) ? '*' : '_'
  }
  for (const [index, segment] of segments.entries()) {
    if (segment.kind !== 'mark') continue
    const { outer, inner } = findNeighboursOfMark(segments, index, segment.isOpening)
    const [outside, inside] = segment.isOpening ? [last, first] : [first, last]
    const [outsideAt, insideAt] = segment.isOpening ? [index - 1, index + 1] : [index + 1, index - 1]
    if (inner === 'space') inside.add(insideAt)
    if (outer === 'letter' && (inner !== 'letter' || chooseMarker(segment) === '_')) outside.add(outsideAt)
  }
  return { marker: chooseMarker, first, last }
}

/** Inside a word only a star can open; beside another mark it would be counted with its stars. */
function findEmphasesNeedingStar(segments: readonly Segment[]): ReadonlySet<number> {
  const inWord = new Set<number>()
  const besideMark = new Set<number>()
  for (const [index, segment] of segments.entries()) {
    if (segment.kind !== 'mark' || segment.type !== 'emphasis') continue
    const { outer, isBesideMark } = findNeighboursOfMark(segments, index, segment.isOpening)
    if (outer === 'letter') inWord.add(segment.id)
    if (isBesideMark) besideMark.add(segment.id)
  }
  for (const id of besideMark) inWord.delete(id)
  return inWord
}

function findNeighboursOfMark(segments: readonly Segment[], index: number, isOpening: boolean): Neighbours {
  const before = segments[index - 1]
  const after = segments[index + 1]
  const left = classifyNeighbour(before, 'last')
  const right = classifyNeighbour(after, 'first')
  const isBesideMark = before?.kind === 'mark' || after?.kind === 'mark'
  return isOpening ? { outer: left, inner: right, isBesideMark } : { outer: right, inner: left, isBesideMark }
}
