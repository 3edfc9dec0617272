// Cuts a tree into trees that each fit one message. Pure: the same tree gives the same pieces on every try.
// Linear: only the beginning of what is left is ever measured, never all of it.
import type { Block, Root } from '../tree.ts'
import { createLoad, type Fit, type Load } from './fit.ts'
import { loosened } from './loosen-block.ts'
import { type Room, takeBlocks } from './take-blocks.ts'
import { blockTextLength, isBlankBlock, lengthOfAll } from './text-length.ts'

/** None is blank. A single character that is wider than the limit stays whole. */
export function chunkTree(root: Root, fit: Fit): readonly Root[] {
  // One unit is at most two of UTF-16, so what is longer than this cannot fit and need not be measured.
  const maxLength = fit.limit * 2 + 1
  const measured = createLoad(fit)
  const load: Load = (blocks) =>
    lengthOfAll(blocks, maxLength) > maxLength ? Number.POSITIVE_INFINITY : measured(blocks)
  const room: Room = { load, alone: load, maxLength, guess: 1, isEmpty: true }
  const pieces: Root[] = []
  let window: readonly Block[] = []
  let at = 0
  while (window.length > 0 || at < root.children.length) {
    const count = countToFill(window, root.children, at, maxLength)
    window = [...window, ...root.children.slice(at, at + count)]
    at += count
    const taken = takeBlocks(window, { ...room, guess: sizeOfPiece(pieces.at(-1)) }) ?? loosenedFirst(window)
    if (!taken.head.every(isBlankBlock)) pieces.push({ type: 'root', children: taken.head })
    window = taken.rest
  }
  return pieces
}

/** How many more blocks make the window longer than any message. */
function countToFill(window: readonly Block[], blocks: readonly Block[], at: number, maxLength: number): number {
  let length = lengthOfAll(window, maxLength)
  let count = 0
  for (; length <= maxLength && at + count < blocks.length; count += 1) {
    const block = blocks[at + count]
    if (block !== undefined) length += blockTextLength(block, maxLength - length)
  }
  return count
}

function loosenedFirst([first, ...others]: readonly Block[]): ReturnType<typeof loosened> {
  if (first === undefined) return { head: [], rest: [] }
  const { head, rest } = loosened(first)
  return { head, rest: [...rest, ...others] }
}

function sizeOfPiece(piece: Root | undefined): number {
  const last = piece?.children.at(-1)
  const inside = last?.type === 'list' || last?.type === 'table' ? last.children.length : 0
  return Math.max(1, inside, piece?.children.length ?? 1)
}
