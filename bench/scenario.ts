// What a scenario gives to whoever tells its figures.
import type { Asked } from './arguments.ts'
import type { Verdict } from './summary.ts'

export type Say = (text: string) => void

export type ScenarioResults = {
  readonly samples: readonly { readonly idleBefore: number }[]
  readonly summaries: readonly object[]
  readonly verdicts: readonly Verdict[]
  /** The figures for people. */
  readonly tables: string
  readonly postgresVersion: string | undefined
  /** What makes the run worthless, whether aims are judged or not. */
  readonly failures?: readonly string[]
}

export type Scenario = {
  readonly subjects: readonly string[]
  readonly run: (asked: Asked, say: Say) => Promise<ScenarioResults>
}
