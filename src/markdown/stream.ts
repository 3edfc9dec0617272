// Streaming Markdown: a growing text as messages, where what is sealed never changes, whatever comes after it.
import { chunkTree, type Fit, messageFillRatio } from './chunk.ts'
import { parseMarkdown } from './parse.ts'
import { cleanTextForDisplay } from './plain-tree.ts'
import type { Block, Root } from './tree.ts'

export type SealedChunks = { readonly sealed: readonly Root[]; readonly open: Root | undefined }

// A message this full is finished when the next block begins.
const wellFilled = 0.7

export function sealChunks(text: string, fit: Fit, isFinal: boolean): SealedChunks {
  const clean = isFinal ? cleanTextForDisplay(text) : cleanGrowingText(text)
  const segments = splitStreamSegments(clean)
  const complete = isFinal ? segments : segments.slice(0, -1)
  const sealed: Root[] = []
  let rest: readonly Block[] = []
  let next = 1
  for (const [index, segment] of complete.entries()) {
    rest = joinBlocks(rest, continueListNumbering(parseMarkdown(segment.source).children, segment, next))
    next = nextListNumber(rest)
    rest = sealAllButLastChunk(rest, fit, sealed)
    const isLast = isFinal && index === complete.length - 1
    if (!isLast && isChunkFull(rest, fit, segments[index + 1])) {
      sealed.push(...chunkTree(createRoot(rest), fit))
      rest = []
    }
  }
  if (isFinal) return { sealed: [...sealed, ...chunkTree(createRoot(rest), fit)], open: undefined }
  const last = segments.at(-1)
  if (last === undefined) return { sealed, open: undefined }
  const open = sealChunksOfGrowingCode(rest, { segment: last, next }, fit, sealed)
  return { sealed, open: open.length === 0 ? undefined : createRoot(open) }
}

/** All pieces but the last are as full as they will ever be. */
function sealAllButLastChunk(blocks: readonly Block[], fit: Fit, sealed: Root[]): readonly Block[] {
  const pieces = chunkTree(createRoot(blocks), fit)
  sealed.push(...pieces.slice(0, -1))
  return pieces.at(-1)?.children ?? []
}

/** A heading is not left without what follows it. */
function isChunkFull(blocks: readonly Block[], fit: Fit, next: Segment | undefined): boolean {
  return next !== undefined && blocks.at(-1)?.type !== 'heading' && messageFillRatio(blocks, fit) >= wellFilled
}

type Growing = { readonly segment: Segment; readonly next: number }

const fenced = /^\n*(?:```|~~~)/

/** Only code longer than a message is sealed while it grows: nothing that comes can change how its lines are cut. */
function sealChunksOfGrowingCode(
  rest: readonly Block[],
  { segment, next }: Growing,
  fit: Fit,
  sealed: Root[],
): readonly Block[] {
  const { source } = segment
  const blocks = streamTree(source, { isFinal: false }).children
  const [code] = fenced.test(source) ? parseMarkdown(source.slice(0, source.lastIndexOf('\n') + 1)).children : []
  if (code?.type !== 'code' || messageFillRatio([code], fit) <= 1)
    return joinBlocks(rest, continueListNumbering(blocks, segment, next))
  return [...sealAllButLastChunk([...rest, code], fit, sealed), ...blocks.slice(1)]
}

function createRoot(children: readonly Block[]): Root {
  return { type: 'root', children }
}

/** An item that is read apart from its list goes on counting, whatever number it was given. */
function continueListNumbering(blocks: readonly Block[], { isNextItem }: Segment, next: number): readonly Block[] {
  const [first, ...others] = blocks
  return isNextItem && first?.type === 'list' && first.ordered ? [{ ...first, start: next }, ...others] : blocks
}

function nextListNumber(blocks: readonly Block[]): number {
  const last = blocks.at(-1)
  return last?.type === 'list' ? last.start + last.children.length : 1
}

/** Items that were read apart are one list again. */
function joinBlocks(before: readonly Block[], blocks: readonly Block[]): readonly Block[] {
  const previous = before.at(-1)
  const [first, ...others] = blocks
  const isOne = previous?.type === 'list' && first?.type === 'list' && first.ordered === previous.ordered
  if (!isOne || (first.ordered && first.start !== previous.start + previous.children.length))
    return [...before, ...blocks]
  return [...before.slice(0, -1), { ...previous, children: [...previous.children, ...first.children] }, ...others]
}

// A text that is still growing, up to where it can be read: half a character is held back.

function cleanGrowingText(text: string): string {
  const last = text.charCodeAt(text.length - 1)
  const isHalf = last >= 0xd800 && last <= 0xdbff
  return cleanTextForDisplay(isHalf ? text.slice(0, -1) : text)
}

// The source of a growing text, cut where later text can change nothing before it: between top-level blocks and between the
// items of a top-level list. Each segment is read on its own.

type Segment = {
  readonly source: string
  /** Another item of the list that the segment before belongs to. */
  readonly isNextItem: boolean
}

const fenceLine = /^ {0,3}(`{3,}|~{3,})([^\n]*)$/
const item = /^(?:([-+*])|\d{1,9}([.)]))[ \t]+\S/

function splitStreamSegments(text: string): readonly Segment[] {
  const segments: Segment[] = []
  let start = 0
  let isNextItem = false
  let fence: string | undefined
  let isAfterBlank = false
  let list: string | undefined
  for (const { line, at } of iterateLines(text)) {
    const isMargin = fence === undefined && line.trim() !== '' && !/^\s/.test(line)
    const mark = isMargin ? readListMark(line) : undefined
    const isItem = mark !== undefined && mark === list
    if (isMargin && at > start && (isAfterBlank || isItem)) {
      segments.push({ source: text.slice(start, at), isNextItem })
      start = at
      isNextItem = isItem
    }
    if (isMargin && (start === at || at === 0)) list = mark
    fence = openFenceAfterLine(line, fence)
    isAfterBlank = line.trim() === ''
  }
  return [...segments, { source: text.slice(start), isNextItem }]
}

function readListMark(line: string): string | undefined {
  const match = item.exec(line)
  return match?.[1] ?? match?.[2]
}

function openFenceAfterLine(line: string, open: string | undefined): string | undefined {
  const match = fenceLine.exec(line.replace(/^\s+|^(?:[-+*]|\d{1,9}[.)])\s+/, ''))
  const marker = match?.[1]
  const info = match?.[2] ?? ''
  if (open !== undefined) return marker?.startsWith(open) === true && info.trim() === '' ? undefined : open
  return marker === undefined || (marker.startsWith('`') && info.includes('`')) ? undefined : marker
}

function* iterateLines(text: string): Generator<{ readonly line: string; readonly at: number }> {
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf('\n', at)
    const end = newline === -1 ? text.length : newline
    yield { line: text.slice(at, end), at }
    at = end + 1
  }
}

// The tree of a text that is still growing: what is half open at its end is closed or held back, so that no mark flashes.

export function streamTree(text: string, { isFinal }: { readonly isFinal: boolean }): Root {
  return parseMarkdown(isFinal ? text : closeUnfinishedMarkdown(cleanGrowingText(text)))
}

// The source of a growing text with its end made whole: an unfinished line of marks, a table without its rule and half a row are
// held back, and what is open in the last paragraph is closed.

const nestedFenceLine = /^\s*(?:>\s?|[-+*]\s+|\d{1,9}[.)]\s+)*(`{3,}|~{3,})([^\n]*)$/
// Perhaps the beginning of a list, a heading, a quote, a rule, a fence: not words yet.
const onlyMarks = /^\s*(?:[-+*_=#>~`|:\s]+|\d{1,9}[.)]?)$/
const blockStart = /^\s*(?:(?:[-+*]|\d{1,9}[.)]|#{1,6}|>)\s+)+(?:\[[ xX]\]\s+)?/

function closeUnfinishedMarkdown(text: string): string {
  const lines = text.split('\n')
  const fence = findOpenFence(lines)
  const last = lines.at(-1) ?? ''
  if (fence !== undefined) return isUnfinishedFenceLine(last, fence) ? dropLastLine(lines) : text
  if (onlyMarks.test(last)) return closeUnfinishedMarkdown(dropLastLine(lines).trimEnd())
  const table = findTableStart(lines)
  if (table !== undefined) return dropUnfinishedTableRow(lines, table)
  const start = findParagraphStart(lines)
  const lead = blockStart.exec(lines[start] ?? '')?.[0] ?? ''
  const head = [...lines.slice(0, start), lead].join('\n')
  return head + closeUnfinishedInline(lines.slice(start).join('\n').slice(lead.length))
}

function dropLastLine(lines: readonly string[]): string {
  return lines.slice(0, -1).join('\n')
}

function findOpenFence(lines: readonly string[]): string | undefined {
  let open: string | undefined
  for (const line of lines) {
    const match = nestedFenceLine.exec(line)
    const marker = match?.[1]
    if (open === undefined) open = marker
    else if (marker?.startsWith(open) === true && (match?.[2] ?? '').trim() === '') open = undefined
  }
  return open
}

/** The line that opens it is still being written, or one that may close it. */
function isUnfinishedFenceLine(line: string, fence: string): boolean {
  return nestedFenceLine.test(line) || (line.trim() !== '' && fence.startsWith(line.trim()))
}

/** Where the block of rows at the end begins. */
function findTableStart(lines: readonly string[]): number | undefined {
  const end = lines.at(-1) === '' ? lines.length - 1 : lines.length
  let start = end
  while (start > 0 && /^\s*(?:>\s?)*\|/.test(lines[start - 1] ?? '')) start -= 1
  return start === end ? undefined : start
}

/** A table shows once its rule is complete, row by row. */
function dropUnfinishedTableRow(lines: readonly string[], start: number): string {
  const isRuled = lines.length > start + 2
  const kept = isRuled ? lines.slice(0, -1) : lines.slice(0, start)
  return kept.join('\n')
}

function findParagraphStart(lines: readonly string[]): number {
  let start = lines.length - 1
  while (start > 0 && !blockStart.test(lines[start] ?? '') && (lines[start - 1] ?? '').trim() !== '') start -= 1
  return start
}

// A paragraph that is still being written: code, emphasis and links that are open at its end.

type Open = { readonly marker: string; readonly at: number }

const word = /[\p{L}\p{N}]/u
// Half an address, a reference, an escape: nothing to read yet.
const unfinished = /(?:\\|&[#\w]{0,31}|!)$/
const halfAutolink = /<(?=[a-z][^\s<>]*$)/i

function closeUnfinishedInline(text: string): string {
  const code = findUnclosedInlineCode(text)
  if (code !== undefined) {
    const before = listUnclosedMarks(text.slice(0, code.at))
    const inside = text.slice(code.at + code.marker.length).replace(/`+$/, '')
    return inside.trim() === ''
      ? closeInlineMarks(before.text.trimEnd(), before.open)
      : closeInlineMarks(`${before.text}${code.marker}${inside}${code.marker}`, before.open)
  }
  const { text: whole, open } = listUnclosedMarks(
    replaceUnfinishedLinkWithLabel(text.replace(unfinished, '').replace(halfAutolink, '')),
  )
  return closeInlineMarks(whole.trimEnd(), open)
}

function closeInlineMarks(text: string, open: readonly Open[]): string {
  const left = [...open]
  let whole = text
  // A mark that nothing follows would stand there by itself.
  for (let last = left.at(-1); last !== undefined && last.at + last.marker.length >= whole.length; last = left.at(-1)) {
    whole = whole.slice(0, last.at).trimEnd()
    left.pop()
  }
  return (
    whole +
    left
      .map(({ marker }) => marker)
      .toReversed()
      .join('')
  )
}

function findUnclosedInlineCode(text: string): Open | undefined {
  for (let at = text.indexOf('`'); at !== -1; ) {
    if (text.charAt(at - 1) === '\\') {
      at = text.indexOf('`', at + 1)
      continue
    }
    const marker = /^`+/.exec(text.slice(at, at + 64))?.[0] ?? '`'
    const end = findClosingBackticks(text, marker, at + marker.length)
    if (end === -1) return { marker, at }
    at = text.indexOf('`', end + marker.length)
  }
  return undefined
}

function findClosingBackticks(text: string, marker: string, from: number): number {
  for (let at = text.indexOf(marker, from); at !== -1; ) {
    let end = at
    while (text.charAt(end) === '`') end += 1
    if (end - at === marker.length) return at
    at = text.indexOf(marker, end)
  }
  return -1
}

/** A link shows as its label until its address is complete. */
function replaceUnfinishedLinkWithLabel(text: string): string {
  const bracket = text.lastIndexOf('[')
  if (bracket === -1 || text.charAt(bracket - 1) === '\\') return text
  const rest = text.slice(bracket + 1)
  const before = text.slice(0, text.charAt(bracket - 1) === '!' ? bracket - 1 : bracket)
  if (rest.startsWith('^') && !rest.includes(']')) return before
  const half = /^([^[\]]*)(?:\](?:\([^()\s]*(?:\([^()\s]*\)?[^()\s]*)*(?:\s[^()]*)?)?)?$/.exec(rest)
  return half === null ? text : before + (half[1] ?? '')
}

/** Emphasis that was opened and not closed; code is passed over. */
function listUnclosedMarks(text: string): { readonly text: string; readonly open: readonly Open[] } {
  const open: Open[] = []
  const runs = /\\.|(`+)[^`]*?\1(?!`)|<[^\s<>]+>|https?:\/\/\S+|(\*+|_+|~~)/gs
  for (const match of text.matchAll(runs)) {
    const run = match[2]
    if (run === undefined) continue
    const before = text.charAt(match.index - 1)
    const after = text.charAt(match.index + run.length)
    const isInWord = run.startsWith('_') && word.test(before) && word.test(after)
    if (isInWord) continue
    let left = run
    if (before.trim() !== '') left = closeOpenMarks(open, left)
    const canOpen = after.trim() !== '' || (after === '' && match.index + run.length === text.length)
    if (left !== '' && canOpen && left.length <= 3) pushOpenMark(open, left, match.index)
  }
  return { text, open }
}

/** Closes what is open from the inside; gives back what is left of the run. */
function closeOpenMarks(open: Open[], run: string): string {
  let left = run
  for (let last = open.at(-1); last !== undefined && left !== '' && left.startsWith(last.marker); last = open.at(-1)) {
    left = left.slice(last.marker.length)
    open.pop()
  }
  return left
}

function pushOpenMark(open: Open[], run: string, at: number): void {
  if (run.length === 3 && run !== '~~~')
    open.push({ marker: run.slice(0, 1), at }, { marker: run.slice(1), at: at + 1 })
  else open.push({ marker: run, at })
}
