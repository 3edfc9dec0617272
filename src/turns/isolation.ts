// In which process a turn runs, by how often a process died on it.

/** `together`: a process died on them once. `alone`: more often; one at a time and nothing beside it. */
export type SuspectShare = 'together' | 'alone'

/** Where suspects run. */
export type Isolation = {
  /** After how many deaths a turn is theirs. */
  readonly from: 1 | 2
  /** Whether they can be run there just now. */
  readonly isOffered: () => boolean
  /** There are suspects for it. */
  readonly wake: () => void
}

/** A turn that was there once may have been there by chance. */
export const aloneFrom = 2

export type Range = { readonly text: string; readonly has: (deaths: number) => boolean }

export function deathRange(share: SuspectShare, maxDeaths: number): Range {
  const [from, to] = share === 'together' ? [1, aloneFrom] : [aloneFrom, Math.max(aloneFrom, maxDeaths)]
  return { text: `{[${from},${to})}`, has: (deaths) => deaths >= from && deaths < to }
}

/** Turns without suspicion, and those that are not run any more. */
export function ordinaryRange(from: number, maxDeaths: number): Range {
  return { text: `{[0,${from}),[${maxDeaths},)}`, has: (deaths) => deaths < from || deaths >= maxDeaths }
}

export function suspectShare(deaths: number, maxDeaths: number): SuspectShare | undefined {
  return (['together', 'alone'] as const).find((share) => deathRange(share, maxDeaths).has(deaths))
}
