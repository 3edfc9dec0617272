// Conformance cases as data: a stable id, the claim in a sentence of its own, what we do and what must come of it.
import { describe, expect, test } from 'vitest'

export type Case = {
  readonly id: string
  readonly claim: string
  readonly run: () => unknown
  /** Absent: `run` holds the expectations itself. */
  readonly expected?: unknown
  /** The whole outcome, where `expected` names a part of it. */
  readonly equals?: unknown
  /** Why the outcome here is not that of agents-api, the service whose message formats and loop rules Parley took over. */
  readonly differs?: string
}

export function conform(title: string, cases: readonly Case[]): void {
  describe(title, () => {
    for (const each of cases) {
      const { id, claim, run, expected, differs } = each
      test(`${id}: ${claim}${differs === undefined ? '' : ` (differs: ${differs})`}`, async () => {
        const actual = await run()
        if ('equals' in each) expect(actual).toEqual(each.equals)
        if (expected !== undefined) expect(actual).toMatchObject(expected as object)
      })
    }
  })
}

/** What a call throws, as text; nothing thrown is a failure of the case. */
export async function refusal(work: () => unknown): Promise<string> {
  try {
    await work()
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  throw new Error('nothing was refused')
}
