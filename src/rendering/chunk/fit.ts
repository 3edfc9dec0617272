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
