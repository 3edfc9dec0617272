// Leases and cursors of pull sources: one process at a time holds a connection's source, and its cursor moves under that lease
// only.
import { type Database, type Param, type Statement, statement } from './client.ts'
import type { LeaseOptions } from './turns.ts'

export type SourceHold = { readonly connection: string; readonly epoch: number }

export interface SourceStore {
  /** Undefined: another process holds it. `cursor`: where the last holder stopped. */
  claim(connection: string): Promise<{ readonly epoch: number; readonly cursor: string | null } | undefined>
  /** False, here and below: it is no longer ours, and nothing was written. */
  renew(hold: SourceHold): Promise<boolean>
  advance(hold: SourceHold, cursor: string): Promise<boolean>
  release(hold: SourceHold): Promise<boolean>
}

export function createSourceStore(database: Database, { holder, leaseMs, tenant }: LeaseOptions): SourceStore {
  const writeSourceRow = async (statement: Statement, hold: SourceHold, ...more: Param[]): Promise<boolean> => {
    const params = [tenant, hold.connection, holder, hold.epoch, ...more]
    return (await database.query(statement, params)).length > 0
  }
  return {
    async claim(connection) {
      const params = [tenant, connection, holder, leaseMs]
      const [row] = await database.query<{ epoch: number; cursor: string | null }>(claimSource, params)
      return row
    },
    renew: (hold) => writeSourceRow(renewSource, hold, leaseMs),
    advance: (hold, cursor) => writeSourceRow(advanceSource, hold, cursor),
    release: (hold) => writeSourceRow(releaseSource, hold),
  }
}

// $1 tenant, $2 connection, $3 holder in all of them; after the claim every write is fenced by $4 epoch.

/** A connection has one source. */
const source = "''"

/** $4 lease in ms. */
const claimSource = statement(
  'claim_source',
  `
insert into pull_cursors as p (tenant, connection, source, connected_at, holder, lease_until, epoch)
values ($1, $2, ${source}, now(), $3, now() + $4::float8 * interval '1 ms', 1)
on conflict (tenant, connection, source) do update set holder = excluded.holder, lease_until = excluded.lease_until,
  connected_at = now(), epoch = p.epoch + 1
where p.lease_until is null or p.lease_until < now()
returning p.epoch::float8 as epoch, p.cursor`,
)

const fenced = `where tenant = $1 and connection = $2 and source = ${source} and holder = $3 and epoch = $4 returning 1 as held`

/** $5 lease in ms. */
const renewSource = statement(
  'renew_source',
  `update pull_cursors set lease_until = now() + $5::float8 * interval '1 ms' ${fenced}`,
)

/** $5 cursor. */
const advanceSource = statement('advance_source', `update pull_cursors set cursor = $5 ${fenced}`)

const releaseSource = statement('release_source', `update pull_cursors set lease_until = null, holder = null ${fenced}`)

/** For a database only one process can open: their former holder is dead. */
export const freeSources = statement(
  'free_sources',
  'update pull_cursors set lease_until = null, holder = null where holder is not null',
)
