// Splits text into pieces a channel accepts. Pure: the same text gives the same pieces on every try. Code fences that a cut would
// tear are closed before it and opened again after it.

type Step = { readonly piece: string; readonly rest: string; readonly fence: Fence | undefined }

/** Pieces of at most `limit` UTF-16 units, none of them blank. A single code point wider than the limit stays whole. */
export function chunkText(text: string, limit: number): readonly string[] {
  const pieces: string[] = []
  let step: Step = { piece: '', rest: text, fence: undefined }
  while (step.rest !== '') {
    step = takeTextPiece(step.rest, step.fence, limit)
    if (step.piece.trim() !== '') pieces.push(step.piece)
  }
  return pieces
}

function takeTextPiece(rest: string, open: Fence | undefined, limit: number): Step {
  const prefix = open === undefined ? '' : `${open.reopening}\n`
  const start = open === undefined ? trimLeadingBlankLines : returnTextUnchanged
  if (prefix.length + rest.length <= limit) return { piece: prefix + start(rest).trimEnd(), rest: '', fence: undefined }
  const { cut, fence } = findCutAndTornFence(rest, open, limit, limit - prefix.length)
  const taken = start(rest.slice(0, cut))
  const after = rest.slice(cut)
  if (fence === undefined)
    return { piece: prefix + taken.trimEnd(), rest: trimBlankLinesElseLeadingSpace(after), fence }
  const body = taken.endsWith('\n') ? taken.slice(0, -1) : taken
  return dropClosingFenceLine(
    `${prefix}${body}\n${fence.marker}`,
    after.startsWith('\n') ? after.slice(1) : after,
    fence,
  )
}

/** The cut, and the fence it tears; when it tears one, the piece still has room for the closing line. */
function findCutAndTornFence(
  rest: string,
  open: Fence | undefined,
  limit: number,
  room: number,
): { readonly cut: number; readonly fence: Fence | undefined } {
  for (let reserved = 0; ; ) {
    const cut = cutPoint(rest, Math.max(1, room - reserved))
    const { fence, openedAt } = findFenceAtEnd(rest.slice(0, cut), open, limit)
    const closing = fence === undefined ? 0 : fence.marker.length + 1
    if (closing > reserved) {
      reserved = closing
      continue
    }
    // A fence that opens on the last line of a piece would show as an empty block: let it start the next piece.
    const isOpenedAtEnd = openedAt > 0 && !rest.slice(openedAt, cut).trimEnd().includes('\n')
    return isOpenedAtEnd ? { cut: openedAt, fence: undefined } : { cut, fence }
  }
}

/** We closed the fence; if the text closes it right here as well, that line has been said. */
function dropClosingFenceLine(piece: string, after: string, fence: Fence): Step {
  const newline = after.indexOf('\n')
  const line = newline === -1 ? after : after.slice(0, newline)
  if (!closesFence(line, fence)) return { piece, rest: after, fence }
  return { piece, rest: newline === -1 ? '' : after.slice(newline + 1), fence: undefined }
}

function returnTextUnchanged(text: string): string {
  return text
}

/** Indentation of the first line that says something is kept. */
function trimLeadingBlankLines(text: string): string {
  const lead = text.length - text.trimStart().length
  return text.slice(text.lastIndexOf('\n', lead) + 1)
}

function trimBlankLinesElseLeadingSpace(text: string): string {
  const trimmed = trimLeadingBlankLines(text)
  return trimmed.length < text.length ? trimmed : text.trimStart()
}

// Fenced code in plain text, as far as cutting needs it (CommonMark 4.5): is a fence open here, and how is it closed?

/** An open fence: what closes it, and the line that opens it again in the next piece. */
type Fence = { readonly marker: string; readonly reopening: string }

/** `openedAt` is where the open fence's first line starts, or -1 when it was open from the beginning. */
type FenceState = { readonly fence: Fence | undefined; readonly openedAt: number }

const fenceLine = /^ {0,3}(`{3,}|~{3,})([^\n]*)$/
const wordOfLanguage = /[^A-Za-z0-9+#._-]/g

/** State at the end of `text`. Fences that would fill half a piece by themselves are treated as ordinary text. */
function findFenceAtEnd(text: string, open: Fence | undefined, limit: number): FenceState {
  let fence = open
  let openedAt = -1
  for (let start = 0; start <= text.length; ) {
    const newline = text.indexOf('\n', start)
    const end = newline === -1 ? text.length : newline
    const line = text.slice(start, end)
    if (fence !== undefined) {
      if (closesFence(line, fence)) fence = undefined
    } else {
      fence = readOpeningFence(line, limit)
      openedAt = start
    }
    start = end + 1
  }
  return { fence, openedAt: fence === undefined ? -1 : openedAt }
}

function closesFence(line: string, fence: Fence): boolean {
  const match = fenceLine.exec(line)
  const marker = match?.[1] ?? ''
  return marker.startsWith(fence.marker) && (match?.[2] ?? '').trim() === ''
}

function readOpeningFence(line: string, limit: number): Fence | undefined {
  const match = fenceLine.exec(line)
  const marker = match?.[1]
  const info = match?.[2] ?? ''
  if (marker === undefined || (marker.startsWith('`') && info.includes('`'))) return undefined
  const language = (info.trim().split(/\s/)[0] ?? '').replace(wordOfLanguage, '').slice(0, 32)
  const fence = { marker, reopening: marker + language }
  return (fence.reopening.length + marker.length + 2) * 2 <= limit ? fence : undefined
}

// Where to cut a text that is too long: paragraph, line, sentence, space, and only then inside a word.

const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' })
// Enough to see the end of any real emoji sequence; a longer cluster is cut between code points.
const lookAhead = 64

/** The best place that leaves between 1 and `room` units before it. */
export function cutPoint(text: string, room: number): number {
  if (text.length <= room) return text.length
  const window = text.slice(0, room + 1)
  // Below a quarter a nicer boundary is not worth a nearly empty piece.
  const leastFill = Math.floor(room / 4)
  const paragraph = window.lastIndexOf('\n\n')
  if (paragraph > leastFill) return paragraph
  const line = window.lastIndexOf('\n')
  if (line > leastFill) return line
  const sentence = lastSentenceEnd(window)
  if (sentence > leastFill) return sentence
  const space = lastSpace(window)
  return space > 0 ? space : graphemeBoundary(text, room)
}

function lastSentenceEnd(window: string): number {
  for (let index = window.length - 1; index > 0; index -= 1) {
    const before = window.charAt(index - 1)
    if ('。！？'.includes(before)) return index
    if ('.!?…'.includes(before) && isWhitespace(window.charAt(index))) return index
  }
  return 0
}

function lastSpace(window: string): number {
  for (let index = window.length - 1; index > 0; index -= 1) if (isWhitespace(window.charAt(index))) return index
  return 0
}

function isWhitespace(unit: string): boolean {
  return unit.trim() === ''
}

/** At most `room`, between characters as a reader sees them. */
export function graphemeBoundary(text: string, room: number): number {
  const start = graphemes.segment(text.slice(0, room + lookAhead)).containing(room)?.index ?? room
  if (start > 0) return start
  const splitsPair = isHighSurrogate(text.charCodeAt(room - 1)) && isLowSurrogate(text.charCodeAt(room))
  if (!splitsPair) return room
  return room > 1 ? room - 1 : 2
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff
}

/** The greatest count that is accepted, where every smaller one is too. A good guess saves most of the asking. */
export function findGreatestAccepted(max: number, guess: number, isAccepted: (count: number) => boolean): number {
  let accepted = 0
  let refused = max + 1
  const testCount = (count: number) => {
    if (isAccepted(count)) accepted = count
    else refused = count
  }
  if (max > 0) testCount(Math.min(Math.max(1, guess), max))
  // Away from the guess in growing steps, and then between the two nearest answers.
  const isUp = accepted > 0
  for (let step = 1; refused - accepted > 1 && (isUp ? refused > max : accepted === 0); step *= 2) {
    testCount(isUp ? Math.min(accepted + step, max) : Math.max(refused - step, 1))
  }
  while (refused - accepted > 1) testCount((accepted + refused) >> 1)
  return accepted
}
