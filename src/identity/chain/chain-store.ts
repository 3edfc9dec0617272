// The port that remembers which agents a chain of callers has passed here; the headers name only the last of them.

export type ChainVisit = {
  readonly root: string
  readonly agent: string
  /** Our own origin. */
  readonly host: string
  readonly depth: number
}

export interface ChainStore {
  /** Remembers the visit, and answers true when the chain was here before and has come back: nearer to its root than now. */
  visit(visit: ChainVisit): Promise<boolean>
}
