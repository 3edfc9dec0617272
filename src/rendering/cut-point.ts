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
