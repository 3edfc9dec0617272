// The tree as a text with entities: formatting beside the words instead of in them, so that no word can become markup.
import {
  type Block,
  chunkTree,
  type Draft,
  escapeHtml,
  type Range,
  type Root,
  writeBlocks,
} from '../../../src/markdown/index.ts'
import type { Entity } from '../wire/calls.ts'

export type EntityPiece = { readonly text: string; readonly entities: readonly Entity[] }

export type EntityLimits = {
  /** UTF-16 units of text. */
  readonly limit: number
  readonly maxRanges: number
  readonly maxBytes: number
  /** With the flag g: what the platform would turn into a link or a call by itself. Set as code, it stays text. */
  readonly inert?: RegExp
}

export type EntityChunk = { readonly blocks: readonly Block[]; readonly piece: EntityPiece }

export function renderEntityPieces(root: Root, limits: EntityLimits): readonly EntityPiece[] {
  return chunkTreeIntoEntityPieces(root, limits).map(({ piece }) => piece)
}

/** Each piece with the blocks it says, for a platform that may take them in another form. */
export function chunkTreeIntoEntityPieces(root: Root, limits: EntityLimits): readonly EntityChunk[] {
  const { limit, maxRanges, maxBytes, inert } = limits
  const pieceOf = memoizeLastPiece((blocks) => writeEntityPiece(blocks, inert))
  const measurePieceSize = (blocks: readonly Block[]): number => {
    const { text } = pieceOf(blocks)
    // No UTF-16 unit takes more than three bytes.
    if (text.length * 3 <= maxBytes) return text.length
    return Math.max(text.length, Math.ceil((new TextEncoder().encode(text).length / maxBytes) * limit))
  }
  const countPieceEntities = (blocks: readonly Block[]) => pieceOf(blocks).entities.length
  const chunks = chunkTree(root, { limit, sizeOf: measurePieceSize, costOf: countPieceEntities, maxCost: maxRanges })
  const written = chunks.map(({ children }) => ({ blocks: children, piece: pieceOf(children) }))
  return written.filter(({ piece }) => piece.text !== '')
}

function writeEntityPiece(blocks: readonly Block[], inert: RegExp | undefined): EntityPiece {
  const draft: Draft = { text: '', ranges: [] }
  writeBlocks(draft, blocks, { indent: '', isQuoted: false, isPlain: false })
  return draftToPiece(draft, inert)
}

/** Size and cost are asked of the same blocks, one after the other. */
function memoizeLastPiece(write: (blocks: readonly Block[]) => EntityPiece): (blocks: readonly Block[]) => EntityPiece {
  let last: { readonly blocks: readonly Block[]; readonly piece: EntityPiece } | undefined
  return (blocks) => {
    if (last?.blocks !== blocks) last = { blocks, piece: write(blocks) }
    return last.piece
  }
}

// Ranges of a text as Telegram takes them: trimmed, none reaching into code, the outer one first.

/** What the reader of ranges calls bold, italic and struck out may not reach into code. */
const soft = new Set<string>(['bold', 'italic', 'strikethrough'])
const solid = new Set<string>(['code', 'pre'])

/** `inert` finds what would become a link or a call by itself; it is set as code unless it is `live`, code or a link already. */
function draftToPiece(draft: Draft, inert: RegExp | undefined): EntityPiece {
  const lead = draft.text.length - draft.text.trimStart().length
  const text = draft.text.trim()
  const moved = draft.ranges.map((range) => ({ ...range, start: range.start - lead, end: range.end - lead }))
  const ranges = inert === undefined ? moved : [...moved, ...findRangesToDefuse(text, moved, inert)]
  const holes = ranges.filter(({ type }) => solid.has(type)).toSorted(compareByStart)
  const blockStarts = new Set(ranges.flatMap(({ type, start }) => (type === 'pre' ? [start] : [])))
  const entities = ranges
    .flatMap((range) => (soft.has(range.type) && holes.length > 0 ? subtractRanges(range, holes) : [range]))
    .flatMap((range) => rangeToEntities(text, range, blockStarts))
  return { text, entities: entities.toSorted(compareOuterFirst) }
}

/** Of two ranges over the same words, the one that may hold the other. */
const ranks: readonly string[] = ['blockquote', 'bold', 'italic', 'strikethrough', 'text_link', 'code', 'pre']

function compareOuterFirst(one: Entity, other: Entity): number {
  return one.offset - other.offset || other.length - one.length || ranks.indexOf(one.type) - ranks.indexOf(other.type)
}

function compareByStart(one: Range, other: Range): number {
  return one.start - other.start
}

function findRangesToDefuse(text: string, ranges: readonly Range[], inert: RegExp): readonly Range[] {
  const taken = ranges
    .filter(({ type }) => solid.has(type) || type === 'live' || type === 'link')
    .toSorted(compareByStart)
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
    case 'link':
      return [{ type: 'text_link', ...place, url: range.url }]
    default:
      return [{ type: range.type, ...place }]
  }
}

// The same piece as HTML of the few tags such platforms know, for places that take no ranges and for asking a second opinion.

export function entitiesHtml({ text, entities }: EntityPiece): string {
  const open: Entity[] = []
  let html = ''
  let at = 0
  const writeTextUpTo = (end: number) => {
    html += escapeHtml(text.slice(at, end))
    at = end
  }
  const closeEntitiesUntil = (offset: number) => {
    for (let last = open.at(-1); last !== undefined && last.offset + last.length <= offset; last = open.at(-1)) {
      writeTextUpTo(last.offset + last.length)
      html += closingTag(last)
      open.pop()
    }
  }
  for (const entity of entities) {
    closeEntitiesUntil(entity.offset)
    writeTextUpTo(entity.offset)
    html += entityOpeningTag(entity)
    open.push(entity)
  }
  closeEntitiesUntil(text.length)
  writeTextUpTo(text.length)
  return html
}

const tags = { bold: 'b', italic: 'i', strikethrough: 's', code: 'code', blockquote: 'blockquote' } as const

function entityOpeningTag(entity: Entity): string {
  switch (entity.type) {
    case 'text_link':
      return `<a href="${escapeHtml(entity.url)}">`
    case 'pre':
      return entity.language === undefined ? '<pre>' : `<pre><code class="language-${escapeHtml(entity.language)}">`
    default:
      return `<${tags[entity.type]}>`
  }
}

function closingTag(entity: Entity): string {
  if (entity.type === 'text_link') return '</a>'
  if (entity.type === 'pre') return entity.language === undefined ? '</pre>' : '</code></pre>'
  return `</${tags[entity.type]}>`
}
