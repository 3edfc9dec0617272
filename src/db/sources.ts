// Leases and cursors of pull sources: one process at a time holds a connection's source, and its cursor moves under that lease
// only.
import { type Db, nameStatement, type Param, type Statement } from './client.ts'

export type SourceHold = { readonly connection: string; readonly epoch: number }

/** Undefined: another process holds it. `cursor`: where the last holder stopped. */
export async function claimSource(
  db: Db,
  connection: string,
): Promise<{ readonly epoch: number; readonly cursor: string | null } | undefined> {
  const params = [db.tenant, connection, db.holder, db.leaseMs]
  const [row] = await db.query<{ epoch: number; cursor: string | null }>(claimSourceSql, params)
  return row
}

/** False, here and below: it is no longer ours, and nothing was written. */
export function renewSource(db: Db, hold: SourceHold): Promise<boolean> {
  return writeSourceRow(db, renewSourceSql, hold, db.leaseMs)
}

export function storeSourceCursor(db: Db, hold: SourceHold, cursor: string): Promise<boolean> {
  return writeSourceRow(db, advanceSourceSql, hold, cursor)
}

export function releaseSource(db: Db, hold: SourceHold): Promise<boolean> {
  return writeSourceRow(db, releaseSourceSql, hold)
}

async function writeSourceRow(db: Db, statement: Statement, hold: SourceHold, ...more: Param[]): Promise<boolean> {
  const params = [db.tenant, hold.connection, db.holder, hold.epoch, ...more]
  return (await db.query(statement, params)).length > 0
}

// $1 tenant, $2 connection, $3 holder in all of them; after the claim every write is fenced by $4 epoch.

/** A connection has one source. */
const source = "''"

/** $4 lease in ms. */
const claimSourceSql = nameStatement(
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
const renewSourceSql = nameStatement(
  'renew_source',
  `update pull_cursors set lease_until = now() + $5::float8 * interval '1 ms' ${fenced}`,
)

/** $5 cursor. */
const advanceSourceSql = nameStatement('advance_source', `update pull_cursors set cursor = $5 ${fenced}`)

const releaseSourceSql = nameStatement(
  'release_source',
  `update pull_cursors set lease_until = null, holder = null ${fenced}`,
)

/** For a database only one process can open: their former holder is dead. */
export const freeSources = nameStatement(
  'free_sources',
  'update pull_cursors set lease_until = null, holder = null where holder is not null',
)
