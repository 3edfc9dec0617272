// The port behind metrics and readiness: how many of what stand where, since when. Read on either runtime, from the rows.

/** One count. Ages are the database's; absent where there is none. */
export type HealthSample = {
  readonly kind:
    | 'message'
    | 'call'
    | 'lane'
    | 'send_lane'
    | 'timer'
    | 'drift'
    | 'retention'
    | 'suspect'
    | 'death'
    | 'pairing'
    /** Of today: `standing` messages of senders who are not admitted, `ever` more that were refused for it. */
    | 'stranger'
  readonly connection: string
  readonly state: string
  readonly reason: string
  /** How many there are now. */
  readonly standing: number
  /** How often this end was ever reached, where ends are tallied. */
  readonly ever: number
  /** Age of the oldest that waits, in milliseconds. */
  readonly oldestMs: number | null
  /** Time since the latest, in milliseconds. */
  readonly lastMs: number | null
}

export interface HealthStore {
  /** One statement with a deadline. Throws when the database does not answer. */
  read(): Promise<readonly HealthSample[]>
}
