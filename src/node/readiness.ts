// Readiness of a long-running process: what it writes to the database, how often, and how it watches its own worker loops.

import type { Database } from '../db/client.ts'
import { probeStorage } from '../db/probe.ts'
import type { Assembled } from '../gateway/assemble.ts'
import { cachePromise } from '../lib/cache.ts'
import { withDatabaseTimeout } from '../observability/database-timeout.ts'
import type { ReadinessDeps } from '../observability/readiness.ts'

export type Probe = ReadinessDeps['probe']

/** Readiness may be asked by many; the database is written to no more often than this. */
const probeFreshMs = 2_000
/** A little more than the statements' own deadline, for connections that hang. */
const probeLateMs = 2_500
/** A loop that says nothing for so long hangs or has died. */
const loopPatienceMs = 15_000

export function createDatabaseProbe(database: Database, tenant: string): Probe {
  return cachePromise(
    probeFreshMs,
    () => performance.now(),
    () => withDatabaseTimeout(probeLateMs, probeStorage(database, tenant)),
  )
}

type HealthSources = Pick<
  ReadinessDeps,
  'probe' | 'readHealthSamples' | 'sources' | 'listeners' | 'connectionProbes' | 'modelProbes' | 'publicUrl'
> & {
  readonly database: Pick<Database, 'faults'>
}

export function createNodeReadiness(
  { deps, gateway }: Assembled,
  { database, ...HealthSources }: HealthSources,
): ReadinessDeps {
  return {
    ...HealthSources,
    faults: database.faults,
    isCommitAnswered: deps.committer.isAnswered,
    loops: () => ({ ...gateway.workerAges(), leases: deps.leases.ageMs() }),
    slots: gateway.slots,
    ...(deps.room === undefined ? {} : { room: deps.room }),
    connections: gateway.connections.map((each) => each.key),
    monotonicMs: deps.monotonicMs,
    patienceMs: Math.max(loopPatienceMs, deps.turnPolicy.leaseMs),
  }
}
