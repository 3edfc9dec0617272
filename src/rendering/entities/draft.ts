// A text that is being written, and the ranges over it as they are closed.
import type { Entity } from './entity.ts'

/** Half open, not trimmed yet. `live` marks a name that may notify a user and is no formatting. */
export type Range =
  | { readonly type: 'bold' | 'italic' | 'strikethrough' | 'code' | 'blockquote' | 'live'; start: number; end: number }
  | { readonly type: 'pre'; readonly language?: string; start: number; end: number }
  | { readonly type: 'text_link'; readonly url: string; start: number; end: number }

export type Draft = { text: string; readonly ranges: Range[] }

/** What the reader of ranges calls bold, italic and struck out may not reach into code. */
const soft = new Set<string>(['bold', 'italic', 'strikethrough'])
const solid = new Set<string>(['code', 'pre'])

/** `inert` finds what would become a link or a call by itself; it is set as code unless it is `live`, code or a link already. */
export function finishDraft(
  draft: Draft,
  inert: RegExp | undefined,
): { readonly text: string; readonly entities: readonly Entity[] } {
  const lead = draft.text.length - draft.text.trimStart().length
  const text = draft.text.trim()
  const moved = draft.ranges.map((range) => ({ ...range, start: range.start - lead, end: range.end - lead }))
  const ranges = inert === undefined ? moved : [...moved, ...inertRanges(text, moved, inert)]
  const holes = ranges.filter(({ type }) => solid.has(type)).toSorted(byStart)
  const blockStarts = new Set(ranges.flatMap(({ type, start }) => (type === 'pre' ? [start] : [])))
  const entities = ranges
    .flatMap((range) => (soft.has(range.type) && holes.length > 0 ? subtractRanges(range, holes) : [range]))
    .flatMap((range) => rangeToEntities(text, range, blockStarts))
  return { text, entities: entities.toSorted(outerFirst) }
}

/** Of two ranges over the same words, the one that may hold the other. */
const ranks: readonly string[] = ['blockquote', 'bold', 'italic', 'strikethrough', 'text_link', 'code', 'pre']

function outerFirst(one: Entity, other: Entity): number {
  return one.offset - other.offset || other.length - one.length || ranks.indexOf(one.type) - ranks.indexOf(other.type)
}

function byStart(one: Range, other: Range): number {
  return one.start - other.start
}

function inertRanges(text: string, ranges: readonly Range[], inert: RegExp): readonly Range[] {
  const taken = ranges
    .filter(({ type }) => solid.has(type) || type === 'live' || type === 'text_link')
    .toSorted(byStart)
  const found: Range[] = []
  let next = 0
  for (const { 0: words, index } of text.matchAll(inert)) {
    while (next < taken.length && (taken[next]?.end ?? 0) <= index) next += 1
    const isTaken = (taken[next]?.start ?? text.length) < index + words.length
    if (!isTaken) found.push({ type: 'code', start: index, end: index + words.length })
  }
  return found
}

function subtractRanges(range: Range, holes: readonly Range[]): readonly Range[] {
  const parts: Range[] = []
  let start = range.start
  for (const hole of holes) {
    if (hole.end <= start) continue
    if (hole.start >= range.end) break
    parts.push({ ...range, start, end: hole.start })
    start = hole.end
  }
  return [...parts, { ...range, start }]
}

/** Without white space at its ends; nothing where nothing is left. */
function rangeToEntities(text: string, range: Range, blockStarts: ReadonlySet<number>): readonly Entity[] {
  let start = Math.max(0, range.start)
  let end = Math.min(text.length, range.end)
  // Of code only what hangs over is cut: its indentation is part of it, also of what begins with it.
  while (start < end && text.charAt(start).trim() === '' && !blockStarts.has(start)) start += 1
  while (start < end && text.charAt(end - 1).trim() === '') end -= 1
  if (start >= end) return []
  const place = { offset: start, length: end - start }
  switch (range.type) {
    case 'live':
      return []
    case 'pre':
      return [{ type: 'pre', ...place, ...(range.language === undefined ? {} : { language: range.language }) }]
    case 'text_link':
      return [{ type: 'text_link', ...place, url: range.url }]
    default:
      return [{ type: range.type, ...place }]
  }
}
