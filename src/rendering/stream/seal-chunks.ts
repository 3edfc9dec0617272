// A growing text in messages: what is sealed never changes, whatever comes after it.
import { chunkTree } from '../chunk/chunk-tree.ts'
import { createLoad, type Fit } from '../chunk/fit.ts'
import { parseMarkdown } from '../markdown/parse-markdown.ts'
import { cleanShownText } from '../shown-text.ts'
import type { Block, Root } from '../tree.ts'
import { growingText } from './growing-text.ts'
import { type Segment, splitStreamSegments } from './segments.ts'
import { streamTree } from './stream-tree.ts'

export type SealedChunks = { readonly sealed: readonly Root[]; readonly open: Root | undefined }

// A message this full is finished when the next block begins.
const wellFilled = 0.7

export function sealChunks(text: string, fit: Fit, isFinal: boolean): SealedChunks {
  const clean = isFinal ? cleanShownText(text) : growingText(text)
  const segments = splitStreamSegments(clean)
  const complete = isFinal ? segments : segments.slice(0, -1)
  const sealed: Root[] = []
  let rest: readonly Block[] = []
  let next = 1
  for (const [index, segment] of complete.entries()) {
    rest = joinBlocks(rest, continueNumbering(parseMarkdown(segment.source).children, segment, next))
    next = numberAfter(rest)
    rest = sealedUpTo(rest, fit, sealed)
    const isLast = isFinal && index === complete.length - 1
    if (!isLast && isChunkFull(rest, fit, segments[index + 1])) {
      sealed.push(...chunkTree(root(rest), fit))
      rest = []
    }
  }
  if (isFinal) return { sealed: [...sealed, ...chunkTree(root(rest), fit)], open: undefined }
  const last = segments.at(-1)
  if (last === undefined) return { sealed, open: undefined }
  const open = openBlocks(rest, { segment: last, next }, fit, sealed)
  return { sealed, open: open.length === 0 ? undefined : root(open) }
}

/** All pieces but the last are as full as they will ever be. */
function sealedUpTo(blocks: readonly Block[], fit: Fit, sealed: Root[]): readonly Block[] {
  const pieces = chunkTree(root(blocks), fit)
  sealed.push(...pieces.slice(0, -1))
  return pieces.at(-1)?.children ?? []
}

/** A heading is not left without what follows it. */
function isChunkFull(blocks: readonly Block[], fit: Fit, next: Segment | undefined): boolean {
  return next !== undefined && blocks.at(-1)?.type !== 'heading' && createLoad(fit)(blocks) >= wellFilled
}

type Growing = { readonly segment: Segment; readonly next: number }

const fenced = /^\n*(?:```|~~~)/

/** Only code longer than a message is sealed while it grows: nothing that comes can change how its lines are cut. */
function openBlocks(rest: readonly Block[], { segment, next }: Growing, fit: Fit, sealed: Root[]): readonly Block[] {
  const { source } = segment
  const blocks = streamTree(source, { isFinal: false }).children
  const [code] = fenced.test(source) ? parseMarkdown(source.slice(0, source.lastIndexOf('\n') + 1)).children : []
  if (code?.type !== 'code' || createLoad(fit)([code]) <= 1)
    return joinBlocks(rest, continueNumbering(blocks, segment, next))
  return [...sealedUpTo([...rest, code], fit, sealed), ...blocks.slice(1)]
}

function root(children: readonly Block[]): Root {
  return { type: 'root', children }
}

/** An item that is read apart from its list goes on counting, whatever number it was given. */
function continueNumbering(blocks: readonly Block[], { isNextItem }: Segment, next: number): readonly Block[] {
  const [first, ...others] = blocks
  return isNextItem && first?.type === 'list' && first.ordered ? [{ ...first, start: next }, ...others] : blocks
}

function numberAfter(blocks: readonly Block[]): number {
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
