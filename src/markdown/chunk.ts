// Cuts a tree into trees that each fit one message. Pure: the same tree gives the same pieces on every try.
// Linear: only the beginning of what is left is ever measured, never all of it.

import { cutPoint, findGreatestAccepted, graphemeBoundary } from './chunk-text.ts'
import { tableAsList } from './table.ts'
import {
  type Block,
  type Blockquote,
  type Code,
  type Inline,
  type InlineWindow,
  isBlank,
  type List,
  type Paragraph,
  type Root,
  readInlineTextAndSpans,
  sliceInlineFrom,
  sliceInlineUpTo,
  type Table,
  textLength,
} from './tree.ts'

/** What a platform accepts in one message, in its own unit. */
export type Fit = {
  readonly limit: number
  /** Units of what the face would send for these blocks, separators between them included; never fewer than their characters. */
  readonly sizeOf: (blocks: readonly Block[]) => number
  /** What else is counted, for example formatted ranges. */
  readonly costOf?: (blocks: readonly Block[]) => number
  readonly maxCost?: number
}

/** How much of a message these blocks would take: more than 1 is too much. */
export function messageFillRatio(blocks: readonly Block[], { limit, sizeOf, costOf, maxCost }: Fit): number {
  const size = sizeOf(blocks) / limit
  return costOf === undefined || maxCost === undefined ? size : Math.max(size, costOf(blocks) / maxCost)
}

/** A measure of blocks that adds up, remembered for each block: cutting asks for the same ones many times. */
export function sumOfBlocks(measure: (block: Block) => number): (blocks: readonly Block[]) => number {
  const known = new WeakMap<Block, number>()
  return (blocks) => {
    let sum = 0
    for (const block of blocks) {
      const size = known.get(block) ?? measure(block)
      known.set(block, size)
      sum += size
    }
    return sum
  }
}

/** None is blank. A single character that is wider than the limit stays whole. */
export function chunkTree(root: Root, fit: Fit): readonly Root[] {
  // One unit is at most two of UTF-16, so what is longer than this cannot fit and need not be measured.
  const maxLength = fit.limit * 2 + 1
  const fillRatioOfBlocks = (blocks: readonly Block[]): number =>
    textLength(blocks, maxLength) > maxLength ? Number.POSITIVE_INFINITY : messageFillRatio(blocks, fit)
  // Most replies fit into one message and are not cut.
  if (fillRatioOfBlocks(root.children) <= 1) return root.children.every(isBlank) ? [] : [root]
  const room: Room = { load: fillRatioOfBlocks, alone: fillRatioOfBlocks, maxLength, guess: 1, isEmpty: true }
  const pieces: Root[] = []
  let window: readonly Block[] = []
  let at = 0
  while (window.length > 0 || at < root.children.length) {
    const count = countBlocksToFillWindow(window, root.children, at, maxLength)
    window = [...window, ...root.children.slice(at, at + count)]
    at += count
    const taken =
      takeBlocksThatFit(window, { ...room, guess: countChildrenOfPiece(pieces.at(-1)) }) ?? breakUpFirstBlock(window)
    if (!taken.head.every(isBlank)) pieces.push({ type: 'root', children: taken.head })
    window = taken.rest
  }
  return pieces
}

/** How many more blocks make the window longer than any message. */
function countBlocksToFillWindow(
  window: readonly Block[],
  blocks: readonly Block[],
  at: number,
  maxLength: number,
): number {
  let length = textLength(window, maxLength)
  let count = 0
  for (; length <= maxLength && at + count < blocks.length; count += 1) {
    const block = blocks[at + count]
    if (block !== undefined) length += textLength([block], maxLength - length)
  }
  return count
}

function breakUpFirstBlock([first, ...others]: readonly Block[]): ReturnType<typeof breakUpBlock> {
  if (first === undefined) return { head: [], rest: [] }
  const { head, rest } = breakUpBlock(first)
  return { head, rest: [...rest, ...others] }
}

function countChildrenOfPiece(piece: Root | undefined): number {
  const last = piece?.children.at(-1)
  const inside = last?.type === 'list' || last?.type === 'table' ? last.children.length : 0
  return Math.max(1, inside, piece?.children.length ?? 1)
}

// A block that no message can hold even in part, because its marks alone fill one: given up for its words.

/** The same words with one kind of mark less, or the first character of plain words as a piece, whatever its size. */
function breakUpBlock(block: Block): Taken {
  switch (block.type) {
    case 'paragraph':
      return breakUpParagraph(block)
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

function breakUpParagraph({ children }: Paragraph): Taken {
  if (children.some((node) => node.type !== 'text' && node.type !== 'break')) {
    return { head: [], rest: [{ type: 'paragraph', children: children.flatMap(stripInlineMarks) }] }
  }
  const { text } = readInlineTextAndSpans(children, 64)
  const cut = graphemeBoundary(text, 1)
  const rest = sliceInlineFrom(children, cut)
  return {
    head: [{ type: 'paragraph', children: sliceInlineUpTo(children, cut) }],
    rest: rest.length === 0 ? [] : [{ type: 'paragraph', children: rest }],
  }
}

function stripInlineMarks(node: Inline): readonly Inline[] {
  switch (node.type) {
    case 'text':
    case 'break':
      return [node]
    case 'inlineCode':
      return [{ type: 'text', value: node.value }]
    case 'mention':
      return [{ type: 'text', value: node.name }]
    case 'link': {
      const isShown = readInlineTextAndSpans(node.children, node.url.length).text === node.url
      return [
        ...node.children.flatMap(stripInlineMarks),
        ...(isShown ? [] : [{ type: 'text', value: ` (${node.url})` } as const]),
      ]
    }
    case 'strong':
    case 'emphasis':
    case 'delete':
      return node.children.flatMap(stripInlineMarks)
    default:
      return node satisfies never
  }
}

function codeLinesAsBlocks(code: string): readonly Block[] {
  const lines = code.split('\n').filter((line) => line.trim() !== '')
  return lines.map((line) => ({ type: 'paragraph', children: [{ type: 'text', value: line }] }))
}

// As many blocks as one message takes, the last of them perhaps in part: between blocks first, then between items, rows and
// lines, then between sentences.

/** `head` is never empty. */
type Taken = { readonly head: readonly Block[]; readonly rest: readonly Block[] }

type Room = {
  /** What these blocks would take of the message together with what is in it already. */
  readonly load: (blocks: readonly Block[]) => number
  /** What they would take of a message of their own. */
  readonly alone: (blocks: readonly Block[]) => number
  /** No text longer than this can fit. */
  readonly maxLength: number
  /** How many blocks, items or rows went into the message before. */
  readonly guess: number
  /** The message is empty: waiting for another one gains nothing. */
  readonly isEmpty: boolean
}

const fill = 0.92
// Above this a message is full enough to begin a new one rather than tear a block.
const wellFilled = 0.7

function takeBlocksThatFit(blocks: readonly Block[], room: Room): Taken | undefined {
  if (room.load(blocks) <= 1) return blocks.length === 0 ? undefined : { head: blocks, rest: [] }
  const count = countBlocksThatFit(blocks, room)
  const lead = blocks.slice(0, count)
  const next = blocks[count]
  if (next === undefined) return { head: lead, rest: [] }
  const isFirst = lead.every(isHeading)
  if (room.alone([next]) > 1 ? isFirst || room.load(lead) < wellFilled : isFirst && room.isEmpty) {
    const torn = splitBlock(next, { ...addLeadBlocksToRoom(room, lead), isEmpty: room.isEmpty && count === 0 })
    if (torn !== undefined) return { head: [...lead, ...torn.head], rest: [...torn.rest, ...blocks.slice(count + 1)] }
  }
  // A heading waits for what it stands above, unless nothing could ever join it.
  const kept = isFirst && room.isEmpty ? count : lead.findLastIndex((block) => !isHeading(block)) + 1
  return kept === 0 ? undefined : { head: blocks.slice(0, kept), rest: blocks.slice(kept) }
}

function countBlocksThatFit(blocks: readonly Block[], room: Room): number {
  const count = findGreatestAccepted(blocks.length, room.guess, (some) => room.load(blocks.slice(0, some)) <= fill)
  // One block that fills a message nearly whole is still whole.
  return count === 0 && room.load(blocks.slice(0, 1)) <= 1 ? 1 : count
}

function isHeading(block: Block): boolean {
  return block.type === 'heading'
}

function addLeadBlocksToRoom(room: Room, lead: readonly Block[]): Room {
  return { ...room, load: (blocks) => room.load([...lead, ...blocks]) }
}

function splitBlock(block: Block, room: Room): Taken | undefined {
  switch (block.type) {
    case 'paragraph':
    case 'heading': {
      const split = splitInline(block.children, {
        fits: (children) => room.load([{ ...block, children }]) <= 1,
        maxLength: room.maxLength,
        isForced: room.isEmpty,
      })
      if (split === undefined) return undefined
      const rest = split.rest.length === 0 ? [] : [{ ...block, children: split.rest }]
      return { head: [{ ...block, children: split.head }], rest }
    }
    case 'code': {
      const codeFitsRoom = (code: Block) => room.load([code]) <= 1
      const parts = splitCode(block, { fits: codeFitsRoom, maxLength: room.maxLength, isForced: room.isEmpty })
      return parts === undefined ? undefined : { head: [parts[0]], rest: [parts[1]] }
    }
    case 'blockquote':
      return splitQuote(block, room)
    case 'list':
      return splitList(block, room)
    case 'table':
      return splitTable(block, room)
    case 'thematicBreak':
      return undefined
    default:
      return block satisfies never
  }
}

function splitQuote(quote: Blockquote, room: Room): Taken | undefined {
  const wrapInQuote = (children: readonly Block[]): readonly Block[] => [{ ...quote, children }]
  const taken = takeBlocksThatFit(quote.children, createRoomInsideWrapper(room, wrapInQuote, wrapInQuote))
  return taken === undefined
    ? undefined
    : { head: wrapInQuote(taken.head), rest: taken.rest.length === 0 ? [] : wrapInQuote(taken.rest) }
}

function splitList(list: List, room: Room): Taken | undefined {
  const sliceList = (from: number, to?: number): List => ({
    ...list,
    start: list.start + from,
    children: list.children.slice(from, to),
  })
  const count = findGreatestAccepted(list.children.length, room.guess, (items) => room.load([sliceList(0, items)]) <= 1)
  const next = list.children[count]
  if (next !== undefined && room.alone([sliceList(count, count + 1)]) > 1) {
    const wrapInList = (children: readonly Block[]): readonly Block[] => {
      return [{ ...list, children: [...list.children.slice(0, count), { ...next, children }] }]
    }
    const wrapInSingleItemList = (children: readonly Block[]): readonly Block[] => [
      { ...list, children: [{ ...next, children }] },
    ]
    const taken = takeBlocksThatFit(next.children, {
      ...createRoomInsideWrapper(room, wrapInList, wrapInSingleItemList),
      isEmpty: room.isEmpty && count === 0,
    })
    // What is left of an item has been numbered already: it goes on without a number.
    const later = sliceList(count + 1)
    if (taken !== undefined) {
      return { head: wrapInList(taken.head), rest: [...taken.rest, ...(later.children.length === 0 ? [] : [later])] }
    }
  }
  return count === 0 ? undefined : { head: [sliceList(0, count)], rest: next === undefined ? [] : [sliceList(count)] }
}

function splitTable(table: Table, room: Room): Taken | undefined {
  const [header, ...rows] = table.children
  if (header === undefined) return undefined
  const sliceTable = (from: number, to?: number): Table => ({ ...table, children: [header, ...rows.slice(from, to)] })
  const count =
    rows.length === 0 ? 0 : findGreatestAccepted(rows.length, room.guess, (few) => room.load([sliceTable(0, few)]) <= 1)
  if (count > 0) return { head: [sliceTable(0, count)], rest: count === rows.length ? [] : [sliceTable(count)] }
  // Not even one row fits a message of its own.
  return room.alone([sliceTable(0, 1)]) > 1 ? splitBlock(tableAsList(table), room) : undefined
}

type Wrap = (children: readonly Block[]) => readonly Block[]

function createRoomInsideWrapper(room: Room, wrap: Wrap, wrapAlone: Wrap): Room {
  return { ...room, load: (blocks) => room.load(wrap(blocks)), alone: (blocks) => room.alone(wrapAlone(blocks)) }
}

// Code that is too long, in two: between lines, and inside a line only when one line is too long.

type CodeRoom = {
  readonly fits: (code: Code) => boolean
  readonly maxLength: number
  readonly isForced: boolean
}

function splitCode(code: Code, { fits, maxLength, isForced }: CodeRoom): readonly [Code, Code] | undefined {
  const window = code.value.slice(0, maxLength)
  const length = findGreatestAccepted(window.length, maxLength >> 1, (count) =>
    fits({ ...code, value: window.slice(0, count) }),
  )
  if (length === 0) return undefined
  const newline = code.value.lastIndexOf('\n', length)
  if (newline > 0) return splitCodeValue(code, newline, newline + 1)
  if (!isForced) return undefined
  const space = code.value.lastIndexOf(' ', length - 1) + 1
  const cut = space * 2 > length ? space : graphemeBoundary(code.value, length)
  return splitCodeValue(code, cut, cut)
}

function splitCodeValue(code: Code, end: number, start: number): readonly [Code, Code] {
  return [
    { ...code, value: code.value.slice(0, end) },
    { ...code, value: code.value.slice(start) },
  ]
}

// Splits a paragraph that is too long in two: after a sentence, else between words, and inside a word only when it must be.

type InlineSplit = { readonly head: readonly Inline[]; readonly rest: readonly Inline[] }
type InlineRoom = {
  readonly fits: (nodes: readonly Inline[]) => boolean
  /** No text longer than this can fit. */
  readonly maxLength: number
  /** There is no emptier message to wait for: words and labels may be torn. */
  readonly isForced: boolean
}

function splitInline(nodes: readonly Inline[], room: InlineRoom): InlineSplit | undefined {
  const window = readInlineTextAndSpans(nodes, room.maxLength)
  const { text } = window
  const length = findGreatestAccepted(text.length, room.maxLength >> 1, (count) =>
    room.fits(sliceInlineUpTo(nodes, count)),
  )
  if (length === 0) return undefined
  if (length === text.length) return { head: nodes, rest: [] }
  const cut = chooseInlineCut(window, length, room)
  if (cut === undefined) return undefined
  const end = text.slice(0, cut).trimEnd().length
  const start = text.length - text.slice(cut).trimStart().length
  return { head: sliceInlineUpTo(nodes, end === 0 ? cut : end), rest: sliceInlineFrom(nodes, start) }
}

function chooseInlineCut(
  { text, whole }: InlineWindow,
  length: number,
  { isForced, maxLength }: InlineRoom,
): number | undefined {
  for (let room = length; ; ) {
    const cut = cutPoint(text, room)
    const torn = whole.find(({ start, end }) => start < cut && cut < end)
    if (torn === undefined) return isForced || isBetweenWords(text, cut) || room < length ? cut : undefined
    // Nothing can be put before it: torn only where its own words are too long, not where its address is.
    const isTooLong = torn.end - torn.start > maxLength >> 1
    if (torn.start === 0 || (isTooLong && torn.start * 4 < length)) return isForced && isTooLong ? cut : undefined
    if (isAtSpace(text, torn.start)) return torn.start
    room = torn.start
  }
}

function isBetweenWords(text: string, cut: number): boolean {
  return isAtSpace(text, cut) || '。！？'.includes(text.charAt(cut - 1))
}

function isAtSpace(text: string, cut: number): boolean {
  return text.charAt(cut).trim() === '' || text.charAt(cut - 1).trim() === ''
}
