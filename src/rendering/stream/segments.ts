// The source of a growing text, cut where later text can change nothing before it: between top-level blocks and between the
// items of a top-level list. Each segment is read on its own.

export type Segment = {
  readonly source: string
  /** Another item of the list that the segment before belongs to. */
  readonly isNextItem: boolean
}

const fenceLine = /^ {0,3}(`{3,}|~{3,})([^\n]*)$/
const item = /^(?:([-+*])|\d{1,9}([.)]))[ \t]+\S/

export function splitStreamSegments(text: string): readonly Segment[] {
  const segments: Segment[] = []
  let start = 0
  let isNextItem = false
  let fence: string | undefined
  let isAfterBlank = false
  let list: string | undefined
  for (const { line, at } of iterateLines(text)) {
    const isMargin = fence === undefined && line.trim() !== '' && !/^\s/.test(line)
    const mark = isMargin ? listMark(line) : undefined
    const isItem = mark !== undefined && mark === list
    if (isMargin && at > start && (isAfterBlank || isItem)) {
      segments.push({ source: text.slice(start, at), isNextItem })
      start = at
      isNextItem = isItem
    }
    if (isMargin && (start === at || at === 0)) list = mark
    fence = openFenceAfter(line, fence)
    isAfterBlank = line.trim() === ''
  }
  return [...segments, { source: text.slice(start), isNextItem }]
}

function listMark(line: string): string | undefined {
  const match = item.exec(line)
  return match?.[1] ?? match?.[2]
}

function openFenceAfter(line: string, open: string | undefined): string | undefined {
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
