// Counts failures on a pool of connections for readiness, and replaces connections that keep failing.
import { type GatewayError, isGatewayError } from '../contract/index.ts'
import { type Outcomes, type StorageFault, storageRemedy } from './client.ts'

export type FaultWatch = Outcomes & {
  /** Undefined while the pool works. */
  readonly fault: () => StorageFault | undefined
}

export type FaultWatchDeps = {
  readonly monotonicMs: () => number
  /** Ends every connection of the pool when its statement is done; the next statement opens a new one. */
  readonly renewConnections: () => void
}

/** A fault is told for so long after it was last met: longer than the loops and the probe take to meet it again. */
const toldForMs = 4_000
/** Other failures may be a statement's own bad luck: a lock, a restart. */
const failuresInARow = 3
const renewEveryMs = 1_000

/** No room, no memory, no connections (class 53), the disk itself (58), a database that only reads: never one statement's fault. */
const ofTheServer = /^(53[0-3]|58|25006)/
/** Met before there was a session, or the session ended with it; or a connection that is given back is not had again. */
const notOfSession = /^(53|08|57P)/

export function createFaultWatch({ monotonicMs, renewConnections }: FaultWatchDeps): FaultWatch {
  let inARow = 0
  let renewedAt = Number.NEGATIVE_INFINITY
  let latest: { readonly fault: StorageFault; readonly at: number } | undefined
  return {
    succeeded() {
      inARow = 0
      // A full disk takes small writes, and what only reads goes on: those faults run out by themselves.
      if (latest !== undefined && !ofTheServer.test(latest.fault.sqlstate)) latest = undefined
    },
    failed(error: GatewayError) {
      if (!isGatewayError(error, 'storage_unavailable')) return
      inARow += 1
      const sqlstate = String(error.details['sqlstate'] ?? '')
      if (!ofTheServer.test(sqlstate) && inARow < failuresInARow) return
      const at = monotonicMs()
      const statement = String(error.details['statement'] ?? '')
      latest = { at, fault: { statement, sqlstate, remedy: storageRemedy(sqlstate) } }
      // A session keeps what it began with: that it may only read, a plan that fits no more, a search path.
      const isOfSession = /^[0-9A-Z]{5}$/.test(sqlstate) && !notOfSession.test(sqlstate)
      if (!isOfSession || at - renewedAt < renewEveryMs) return
      renewedAt = at
      renewConnections()
    },
    fault: () => (latest !== undefined && monotonicMs() - latest.at < toldForMs ? latest.fault : undefined),
  }
}
