// The face for channels that show text and nothing else: addresses behind their labels, tables aligned, lists with bullets.
import { chunkTree } from '../chunk/chunk-tree.ts'
import type { Draft } from '../entities/draft.ts'
import { writeBlocks } from '../entities/write-blocks.ts'
import type { Block, Root } from '../tree.ts'

/** Pieces of at most `limit` UTF-16 units. */
export function renderPlain(root: Root, { limit }: { readonly limit: number }): readonly string[] {
  const pieces = chunkTree(root, { limit, sizeOf: (blocks) => plainPiece(blocks).length })
  return pieces.map(({ children }) => plainPiece(children)).filter((text) => text !== '')
}

function plainPiece(blocks: readonly Block[]): string {
  const draft: Draft = { text: '', ranges: [] }
  writeBlocks(draft, blocks, { indent: '', isQuoted: true, isPlain: true })
  return draft.text.trim()
}
