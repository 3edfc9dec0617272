// The renderer for platforms that take formatting as ranges over a text.
import { chunkTree } from '../chunk.ts'
import { escapeHtml } from '../html.ts'
import { type Draft, type Entity, type EntityPiece, finishDraft, writeBlocks } from '../styled-text.ts'
import type { Block, Root } from '../tree.ts'

export type EntityLimits = {
  /** UTF-16 units of text. */
  readonly limit: number
  readonly maxRanges: number
  readonly maxBytes: number
  /** With the flag g: what the platform would turn into a link or a call by itself. Set as code, it stays text. */
  readonly inert?: RegExp
}

export type EntityChunk = { readonly blocks: readonly Block[]; readonly piece: EntityPiece }

export function renderEntities(root: Root, limits: EntityLimits): readonly EntityPiece[] {
  return entityChunks(root, limits).map(({ piece }) => piece)
}

/** Each piece with the blocks it says, for a platform that may take them in another form. */
export function entityChunks(root: Root, limits: EntityLimits): readonly EntityChunk[] {
  const { limit, maxRanges, maxBytes, inert } = limits
  const pieceOf = rememberLast((blocks) => writtenPiece(blocks, inert))
  const sizeOf = (blocks: readonly Block[]): number => {
    const { text } = pieceOf(blocks)
    // No UTF-16 unit takes more than three bytes.
    if (text.length * 3 <= maxBytes) return text.length
    return Math.max(text.length, Math.ceil((new TextEncoder().encode(text).length / maxBytes) * limit))
  }
  const costOf = (blocks: readonly Block[]) => pieceOf(blocks).entities.length
  const chunks = chunkTree(root, { limit, sizeOf, costOf, maxCost: maxRanges })
  const written = chunks.map(({ children }) => ({ blocks: children, piece: pieceOf(children) }))
  return written.filter(({ piece }) => piece.text !== '')
}

function writtenPiece(blocks: readonly Block[], inert: RegExp | undefined): EntityPiece {
  const draft: Draft = { text: '', ranges: [] }
  writeBlocks(draft, blocks, { indent: '', isQuoted: false, isPlain: false })
  return finishDraft(draft, inert)
}

/** Size and cost are asked of the same blocks, one after the other. */
function rememberLast(write: (blocks: readonly Block[]) => EntityPiece): (blocks: readonly Block[]) => EntityPiece {
  let last: { readonly blocks: readonly Block[]; readonly piece: EntityPiece } | undefined
  return (blocks) => {
    if (last?.blocks !== blocks) last = { blocks, piece: write(blocks) }
    return last.piece
  }
}

// The same piece as HTML of the few tags such platforms know, for places that take no ranges and for asking a second opinion.

export function entitiesHtml({ text, entities }: EntityPiece): string {
  const open: Entity[] = []
  let html = ''
  let at = 0
  const upTo = (end: number) => {
    html += escapeHtml(text.slice(at, end))
    at = end
  }
  const closeUntil = (offset: number) => {
    for (let last = open.at(-1); last !== undefined && last.offset + last.length <= offset; last = open.at(-1)) {
      upTo(last.offset + last.length)
      html += closingTag(last)
      open.pop()
    }
  }
  for (const entity of entities) {
    closeUntil(entity.offset)
    upTo(entity.offset)
    html += entityOpeningTag(entity)
    open.push(entity)
  }
  closeUntil(text.length)
  upTo(text.length)
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
