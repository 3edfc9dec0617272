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

export function createLoad({ limit, sizeOf, costOf, maxCost }: Fit): Load {
  if (costOf === undefined || maxCost === undefined) return (blocks) => sizeOf(blocks) / limit
  return (blocks) => Math.max(sizeOf(blocks) / limit, costOf(blocks) / maxCost)
}

/** The greatest count that is accepted, where every smaller one is too. A good guess saves most of the asking. */
export function mostThat(max: number, guess: number, isAccepted: (count: number) => boolean): number {
  let accepted = 0
  let refused = max + 1
  const ask = (count: number) => {
    if (isAccepted(count)) accepted = count
    else refused = count
  }
  if (max > 0) ask(Math.min(Math.max(1, guess), max))
  // Away from the guess in growing steps, and then between the two nearest answers.
  const isUp = accepted > 0
  for (let step = 1; refused - accepted > 1 && (isUp ? refused > max : accepted === 0); step *= 2) {
    ask(isUp ? Math.min(accepted + step, max) : Math.max(refused - step, 1))
  }
  while (refused - accepted > 1) ask((accepted + refused) >> 1)
  return accepted
}
