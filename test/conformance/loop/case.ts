// The form of a conformance case: what goes in, what must come out. Ids are those of loop sections 1 to 5 and 8.
import { expect, test } from 'vitest'

export type ConformanceCase = {
  readonly id: string
  /** A claim, in the present tense. */
  readonly what: string
  readonly run: () => unknown
  readonly expected: unknown
}

/** A case we deliberately answer differently, and the trap or ruling that says why. */
export type Difference = { readonly id: string; readonly because: string; readonly ours: string }

export function checkCases(cases: readonly ConformanceCase[]): void {
  test.each(cases.map((each) => [`${each.id} ${each.what}`, each] as const))('%s', async (_name, each) => {
    expect(await each.run()).toEqual(each.expected)
  })
}
