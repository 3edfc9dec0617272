// A measure of blocks that adds up, remembered for each block: cutting asks for the same ones many times.
import type { Block } from './tree.ts'

export function sumOfBlocks(measure: (block: Block) => number): (blocks: readonly Block[]) => number {
  const known = new WeakMap<Block, number>()
  return (blocks) => {
    let sum = 0
    for (const block of blocks) {
      const size = known.get(block) ?? measure(block)
      known.set(block, size)
      sum += size
    }
    return sum
  }
}
