// In which process a turn runs, by how often a process died on it.

/** `together`: a process died on them once. `alone`: more often; one at a time and nothing beside it. */
export type SuspectShare = 'together' | 'alone'

/** Where suspects run. */
export type Isolation = {
  /** After how many crashes a turn is theirs. */
  readonly from: 1 | 2
  /** Whether they can be run there just now. */
  readonly isOffered: () => boolean
  /** There are suspects for it. */
  readonly wake: () => void
}

/** A turn that was there once may have been there by chance. */
export const aloneFrom = 2

export type Range = { readonly text: string; readonly has: (crashes: number) => boolean }

export function crashRange(share: SuspectShare, maxCrashes: number): Range {
  const [from, to] = share === 'together' ? [1, aloneFrom] : [aloneFrom, Math.max(aloneFrom, maxCrashes)]
  return { text: `{[${from},${to})}`, has: (crashes) => crashes >= from && crashes < to }
}

/** Turns without suspicion, and those that are not run any more. */
export function ordinaryRange(from: number, maxCrashes: number): Range {
  return { text: `{[0,${from}),[${maxCrashes},)}`, has: (crashes) => crashes < from || crashes >= maxCrashes }
}

export function suspectShare(crashes: number, maxCrashes: number): SuspectShare | undefined {
  return (['together', 'alone'] as const).find((share) => crashRange(share, maxCrashes).has(crashes))
}
