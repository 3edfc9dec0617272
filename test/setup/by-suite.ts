// The order of files: suite by suite, because a worker keeps its modules only for the next file of its suite.
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { suiteNames } from './suites.ts'

const ranks = new Map<string, number>(suiteNames.map((name, rank) => [name, rank]))

export class BySuite extends BaseSequencer {
  /** Inside a suite vitest's own order: what failed or took long last time, else the largest file first. */
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const rank = ({ project }: TestSpecification): number => ranks.get(project.name) ?? ranks.size
    return sorted.toSorted((one, other) => rank(one) - rank(other))
  }
}
