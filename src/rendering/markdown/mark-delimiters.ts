// How the marks of a row are written so that they open and close (CommonMark 6.2): emphasis with the character that can, and
// letters and spaces in the way as references.
import { type Beside, neighbourKind, type Segment } from './inline-segments.ts'

export type Delimiters = {
  /** What a mark is written with, by its id. */
  readonly marker: (segment: Extract<Segment, { kind: 'mark' }>) => string
  /** Words whose first or last character is written as a reference. */
  readonly first: ReadonlySet<number>
  readonly last: ReadonlySet<number>
}

type Neighbours = { readonly outer: Beside; readonly inner: Beside; readonly isBesideMark: boolean }

export function chooseDelimiters(segments: readonly Segment[]): Delimiters {
  const starred = starredEmphases(segments)
  const first = new Set<number>()
  const last = new Set<number>()
  const marker: Delimiters['marker'] = ({ type, id }) => {
    if (type === 'strong') return '**'
    if (type === 'delete') return '~~'
    return starred.has(id) ? '*' : '_'
  }
  for (const [index, segment] of segments.entries()) {
    if (segment.kind !== 'mark') continue
    const { outer, inner } = findNeighbours(segments, index, segment.isOpening)
    const [outside, inside] = segment.isOpening ? [last, first] : [first, last]
    const [outsideAt, insideAt] = segment.isOpening ? [index - 1, index + 1] : [index + 1, index - 1]
    if (inner === 'space') inside.add(insideAt)
    if (outer === 'letter' && (inner !== 'letter' || marker(segment) === '_')) outside.add(outsideAt)
  }
  return { marker, first, last }
}

/** Inside a word only a star can open; beside another mark it would be counted with its stars. */
function starredEmphases(segments: readonly Segment[]): ReadonlySet<number> {
  const inWord = new Set<number>()
  const besideMark = new Set<number>()
  for (const [index, segment] of segments.entries()) {
    if (segment.kind !== 'mark' || segment.type !== 'emphasis') continue
    const { outer, isBesideMark } = findNeighbours(segments, index, segment.isOpening)
    if (outer === 'letter') inWord.add(segment.id)
    if (isBesideMark) besideMark.add(segment.id)
  }
  for (const id of besideMark) inWord.delete(id)
  return inWord
}

function findNeighbours(segments: readonly Segment[], index: number, isOpening: boolean): Neighbours {
  const before = segments[index - 1]
  const after = segments[index + 1]
  const left = neighbourKind(before, 'last')
  const right = neighbourKind(after, 'first')
  const isBesideMark = before?.kind === 'mark' || after?.kind === 'mark'
  return isOpening ? { outer: left, inner: right, isBesideMark } : { outer: right, inner: left, isBesideMark }
}
