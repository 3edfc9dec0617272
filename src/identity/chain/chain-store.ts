// The port that remembers which agents a chain of callers has passed here; the headers name only the last of them.

export type ChainVisit = {
  readonly root: string
  readonly agent: string
  /** Our own origin. */
  readonly host: string
  readonly depth: number
}

/** Who calls, in a chain that began at this root. */
export type ChainCaller = { readonly root: string; readonly agent: string; readonly host: string }

export interface ChainStore {
  /** Remembers the visit, and answers true when the chain was here before and has come back: nearer to its root than now. */
  visit(visit: ChainVisit): Promise<boolean>
  /** How many turns of the conversation that a waiting message is in this caller has had before it, in the same chain. */
  turnsWith(inboxId: string, caller: ChainCaller): Promise<number>
}
