// What takes longest begins first: at the end of a run nothing is left that keeps one worker busy while the other has nothing to do.
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** By the beginning of their path, the longest first. The proofs mostly wait: beside them there is time for others. */
const slow = ['test/proofs/', 'test/cli/operator', 'test/bench/', 'test/interop/', 'test/runtime/', 'test/journeys/']

export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return sorted.toSorted((one, other) => rank(one) - rank(other))
  }
}

function rank({ moduleId }: TestSpecification): number {
  const at = slow.findIndex((path) => moduleId.includes(`/${path}`))
  return at === -1 ? slow.length : at
}
