// The port of limits: how often a sender or caller asked in the current window. Rows, so that replicas count together.

/** `scope` names who and what is counted; it holds no name of a person. */
export type Counted = { readonly scope: string; readonly count: number; readonly perMs: number }

/** `used` counts the request itself; one more than `count` where it was too many. */
export type Spent = { readonly scope: string; readonly used: number; readonly resetMs: number }

export interface LimitStore {
  /** One statement, whatever is counted. */
  spend(counted: readonly Counted[]): Promise<readonly Spent[]>
}
