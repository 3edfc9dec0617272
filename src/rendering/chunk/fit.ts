// What a platform accepts in one message, in its own unit.
import type { Block } from '../tree.ts'

export type Fit = {
  readonly limit: number
  /** Units of what the face would send for these blocks, separators between them included; never fewer than their characters. */
  readonly sizeOf: (blocks: readonly Block[]) => number
  /** What else is counted, for example formatted ranges. */
  readonly costOf?: (blocks: readonly Block[]) => number
  readonly maxCost?: number
}

/** How much of a message these blocks would take: more than 1 is too much. */
export type Load = (blocks: readonly Block[]) => number

export function loadOf({ limit, sizeOf, costOf, maxCost }: Fit): Load {
  if (costOf === undefined || maxCost === undefined) return (blocks) => sizeOf(blocks) / limit
  return (blocks) => Math.max(sizeOf(blocks) / limit, costOf(blocks) / maxCost)
}

/** The greatest count that is accepted, where every smaller one is too. */
export function mostThat(max: number, isAccepted: (count: number) => boolean): number {
  let accepted = 0
  let refused = max + 1
  // From small to large: what is far too much is never measured.
  for (let step = 1; accepted + step < refused; step *= 2) {
    if (isAccepted(accepted + step)) accepted += step
    else refused = accepted + step
  }
  while (refused - accepted > 1) {
    const middle = (accepted + refused) >> 1
    if (isAccepted(middle)) accepted = middle
    else refused = middle
  }
  return accepted
}
