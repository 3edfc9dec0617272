// Cuts a tree into trees that each fit one message (slack 6.3). Pure: the same tree gives the same pieces on every try.
import type { Block, Root } from '../tree.ts'
import type { Fit } from './fit.ts'

export function chunkTree(root: Root, fit: Fit): readonly Root[] {
  const pieces: Root[] = []
  let open: readonly Block[] = []
  for (const block of root.children) {
    const longer = [...open, block]
    if (open.length > 0 && fit.sizeOf(longer) > fit.limit) {
      pieces.push({ type: 'root', children: open })
      open = [block]
    } else open = longer
  }
  return open.length === 0 ? pieces : [...pieces, { type: 'root', children: open }]
}
