// Lays text out in lines: blank lines between blocks, markers before items, `> ` before quotes, ` | ` between cells.

/** What was written, and what has to be written before the next word. */
export type Lines = {
  readonly maxLength: number
  readonly parts: string[]
  length: number
  isFull: boolean
  /** Line ends before the next word. */
  breaks: number
  isSpacePending: boolean
  /** Right behind the marker of an item or the start of a cell, blocks need no line of their own. */
  isFresh: boolean
  readonly containers: Container[]
  /** How many of the containers hold both the last line and the next one. */
  sharedContainers: number
  rowDepth: number
  rowsWithText: number
  separators: number
  /** What was written since recording began, and where; undefined when nothing is recorded. */
  recorded: { text: string; from: { readonly parts: number; readonly length: number } | undefined } | undefined
}

/** A quote or an item of a list: the marker stands on its first line, the prefix on the others. */
type Container = { marker: string; readonly prefix: string }

const maxContainers = 12
const maxSeparators = 8
const maxRecorded = 2_048

export function createEmptyTextLines(maxLength: number): Lines {
  return {
    maxLength,
    parts: [],
    length: 0,
    isFull: false,
    breaks: 0,
    isSpacePending: false,
    isFresh: false,
    containers: [],
    sharedContainers: 0,
    rowDepth: 0,
    rowsWithText: 0,
    separators: 0,
    recorded: undefined,
  }
}

export function joinFinishedLines(lines: Lines): string {
  return lines.parts.join('').trim()
}

/** Runs of white space are one space. */
export function writeWords(lines: Lines, text: string): void {
  const words = text.replace(/\s+/g, ' ')
  lines.isSpacePending ||= words.startsWith(' ')
  const trimmed = words.trim()
  if (trimmed === '') return
  writeTextWithSeparators(lines, trimmed)
  lines.isSpacePending = words.endsWith(' ')
}

/** Spaces and line ends as they are. */
export function writePreformatted(lines: Lines, text: string): void {
  for (const [at, line] of text.split(/\r\n?|\n/).entries()) {
    if (at > 0 && !lines.isFresh && lines.length > 0) lines.breaks += 1
    if (line !== '') writeTextWithSeparators(lines, line.replaceAll('\u00a0', ' '))
  }
}

/** Straight behind what was written last, on its line. */
export function appendText(lines: Lines, text: string, isApart: boolean): void {
  const { breaks, isSpacePending } = lines
  lines.breaks = 0
  lines.isSpacePending = isApart
  writeTextWithSeparators(lines, text)
  lines.breaks = breaks
  lines.isSpacePending = isSpacePending
}

/** Between what was written last and what is written next, without a space. */
export function appendWithoutSpace(lines: Lines, text: string): void {
  lines.isSpacePending = false
  appendText(lines, text, false)
}

/** What follows starts that many line ends further down. */
export function requestLineBreaks(lines: Lines, breaks: 1 | 2): void {
  lines.isSpacePending = false
  if (!lines.isFresh) lines.breaks = Math.max(lines.breaks, breaks)
}

/** A line end of the source. Two of them make a blank line, and more do not make more. */
export function breakLine(lines: Lines): void {
  lines.isSpacePending = false
  if (!lines.isFresh && lines.length > 0) lines.breaks = Math.min(2, lines.breaks + 1)
}

/** Answers how to leave it. */
export function enterListOrQuote(lines: Lines, marker: string, prefix: string): () => void {
  lines.breaks = Math.max(lines.breaks, 1)
  lines.separators = 0
  lines.isFresh = true
  const isNested = lines.containers.length < maxContainers
  if (isNested) lines.containers.push({ marker, prefix })
  return () => {
    if (isNested) lines.containers.pop()
    lines.sharedContainers = Math.min(lines.sharedContainers, lines.containers.length)
    lines.isFresh = false
    // Items written as paragraphs are still items of one list.
    lines.breaks = Math.min(lines.breaks, 1)
  }
}

/** Answers how to leave it. */
export function enterTableRow(lines: Lines): () => void {
  requestLineBreaks(lines, 1)
  lines.rowDepth += 1
  return () => {
    lines.rowDepth -= 1
    lines.rowsWithText = Math.min(lines.rowsWithText, lines.rowDepth)
    lines.separators = 0
    lines.isFresh = false
    requestLineBreaks(lines, 1)
  }
}

/** Empty cells count between two others, and are passed over at the sides: most tables of mails are only layout. */
export function startCell(lines: Lines): void {
  if (lines.rowDepth === 0) {
    lines.isSpacePending = true
    return
  }
  if (lines.rowsWithText >= lines.rowDepth) {
    lines.separators += 1
    lines.breaks = 0
    lines.isSpacePending = false
  }
  lines.isFresh = true
}

/** `end`: what was written from here to there. `replace`: something else in its place. */
export function recordWrittenText(lines: Lines): {
  readonly end: () => string
  readonly replace: (text: string) => void
} {
  const recorded: NonNullable<Lines['recorded']> = { text: '', from: undefined }
  lines.recorded = recorded
  return {
    end() {
      lines.recorded = undefined
      return recorded.text.trim()
    },
    replace(text) {
      if (recorded.from === undefined || lines.isFull) return
      lines.parts.length = recorded.from.parts
      lines.length = recorded.from.length
      appendUpToMaxLength(lines, text)
    },
  }
}

function writeTextWithSeparators(lines: Lines, text: string): void {
  if (lines.length === 0 || lines.breaks > 0) startLine(lines)
  else if (lines.separators > 0)
    appendUpToMaxLength(lines, `${' |'.repeat(Math.min(lines.separators, maxSeparators))} `)
  else if (lines.isSpacePending) appendUpToMaxLength(lines, ' ')
  const { recorded } = lines
  if (recorded !== undefined) {
    recorded.from ??= { parts: lines.parts.length, length: lines.length }
    if (recorded.text.length < maxRecorded) recorded.text += lines.isSpacePending ? ` ${text}` : text
  }
  appendUpToMaxLength(lines, text)
  lines.breaks = 0
  lines.separators = 0
  lines.isSpacePending = false
  lines.isFresh = false
  lines.rowsWithText = lines.rowDepth
}

function startLine(lines: Lines): void {
  if (lines.length > 0) {
    const shared = lines.containers.slice(0, lines.sharedContainers)
    const blank = shared.map((each) => each.prefix).join('')
    appendUpToMaxLength(lines, `\n${`${blank.trimEnd()}\n`.repeat(Math.max(0, lines.breaks - 1))}`)
  }
  appendUpToMaxLength(lines, lines.containers.map(takeListMarker).join(''))
  lines.sharedContainers = lines.containers.length
}

function takeListMarker(container: Container): string {
  const { marker, prefix } = container
  container.marker = ''
  return marker === '' ? prefix : marker
}

function appendUpToMaxLength(lines: Lines, text: string): void {
  if (lines.isFull) return
  lines.isFull = lines.length + text.length > lines.maxLength
  // Cut between code points.
  const room = text.slice(0, lines.maxLength - lines.length)
  const kept = lines.isFull && !room.isWellFormed() ? room.slice(0, -1) : room
  lines.length += kept.length
  lines.parts.push(kept)
}
