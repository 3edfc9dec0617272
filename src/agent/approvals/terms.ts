// On which terms a person is asked: until when, who may decide, in what words.
import type { Fields } from '../../contract/index.ts'

/** `anyone` who reaches the question, somebody `other` than who asked for it, or an `operator` only. */
export type Resolvers = 'anyone' | 'other' | 'operator'

export type ApprovalTerms<Parameters = Fields> = {
  readonly expiresInMs?: number
  readonly by?: Resolvers
  /** What would happen, in one line. It is shown and stored: leave secrets out. */
  readonly summary?: (parameters: Parameters) => string
}

/** Ruling 43. */
export const defaultExpiryMs = 30 * 60_000
