// Requests rejected before their sender was verified: a bad signature, a wrong secret, an unknown token. They leave no row, since
// a write per forged request is an invitation; the newest are kept here, in this process and no longer.

export type Rejection = {
  readonly at: string
  /** What the answer named it by. */
  readonly trace: string
  /** A connection as the ledger names it, `admin` for the operator's routes, `http` before any route was looked at. */
  readonly connection: string
  readonly reason: string
  /** Whether the caller sat on the gateway's machine. */
  readonly isLocal: boolean
  readonly bytes: number | null
}

export type RejectionQuery = {
  readonly limit: number
  readonly connection?: string | undefined
  readonly trace?: string | undefined
}

export type Rejections = {
  readonly add: (rejection: Rejection) => void
  /** Newest first. */
  readonly list: (query: RejectionQuery) => readonly Rejection[]
  /** How many of a kind there were since this last said so; undefined until a line about them is due again. */
  readonly due: (kind: string, now: number) => number | undefined
}

/** Of each connection, so that noise on one does not push out what happened on another. */
const maxKeptRejections = 500
const lineEveryMs = 60_000

export function createRejectionLog(): Rejections {
  const byConnection = new Map<string, Rejection[]>()
  const counters = new Map<string, { since: number; count: number }>()
  return {
    add(rejection) {
      const ring = byConnection.get(rejection.connection) ?? []
      byConnection.set(rejection.connection, ring)
      ring.push(rejection)
      if (ring.length > maxKeptRejections) ring.shift()
    },
    list({ limit, connection, trace }) {
      const rings = connection === undefined ? [...byConnection.values()] : [byConnection.get(connection) ?? []]
      return rings
        .flat()
        .filter((each) => trace === undefined || each.trace === trace)
        .toSorted((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0))
        .slice(0, limit)
    },
    due(kind, now) {
      const tally = counters.get(kind)
      if (tally !== undefined && now - tally.since < lineEveryMs) {
        tally.count += 1
        return undefined
      }
      counters.set(kind, { since: now, count: 0 })
      return (tally?.count ?? 0) + 1
    },
  }
}
