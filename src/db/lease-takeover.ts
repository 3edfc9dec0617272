// When expired leases may be taken over. While the database is away every lease runs out, also those of holders that live
// and have results in hand. So after such a gap their holders have some time to renew before another replica takes their lanes.

export type LeaseTakeover = {
  /** The database answered: its own time then, in ms. */
  readonly seen: (databaseMs: number) => void
  /**
   * For a claim: the database's time when it last answered, null before its first answer, 0 while holders have time to come back.
   * The claim itself compares it with the database's time when it runs: it may have waited in a frozen connection.
   */
  readonly lastSeen: () => number | null
  /** Without an answer for longer than this, leases may have run out that no holder could renew. */
  readonly gapMs: number
}

/** `pollMs`: how often the database is asked at least. */
export function createDatabaseGapTracker({
  leaseMs,
  pollMs,
}: {
  readonly leaseMs: number
  readonly pollMs: number
}): LeaseTakeover {
  // Leases are renewed every quarter: one that was renewed before a shorter gap is still good after it.
  const gapMs = Math.max(leaseMs / 4, pollMs * 3)
  const graceMs = Math.max(leaseMs / 2, 3_000)
  let last: number | null = null
  /** Undefined: there was no gap since this process began. */
  let backSince: number | undefined
  return {
    gapMs,
    seen(databaseMs) {
      if (last !== null && databaseMs - last >= gapMs) backSince = databaseMs
      // Answers may come in another order than they were given; a clock that was set back is followed.
      last = last === null || databaseMs > last || last - databaseMs > gapMs ? databaseMs : last
      if (backSince !== undefined && (last - backSince >= graceMs || last < backSince)) backSince = undefined
    },
    lastSeen: () => (backSince === undefined ? last : 0),
  }
}

/** The part of a claim that decides whether it may take over. */
export function mayTakeOverLeaseSql(lastSeen: string, gapMs: string): string {
  return `(${lastSeen}::float8 is null or extract(epoch from now()) * 1000 - ${lastSeen}::float8 < ${gapMs}::float8)`
}
