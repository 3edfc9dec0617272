// Which migrations a database has, and whether this release can work with it.
import journal from '../../drizzle/meta/_journal.json' with { type: 'json' }
import { GatewayError, isGatewayError } from '../lib/errors.ts'
import { nameStatement, type Sql } from './client.ts'

export type AppliedMigration = { readonly madeAt: number; readonly isCompatible: boolean }

const applied = nameStatement(
  'migrate_read',
  'select made_at::float8 as "madeAt", is_compatible as "isCompatible" from parley_migrations order by made_at',
)

export function readAppliedMigrations(sql: Sql): Promise<readonly AppliedMigration[]> {
  return sql.query<AppliedMigration>(applied, [])
}

/** Older than our first migration: of the steps that it replaced, from which no way leads to it. */
export function isBeforeFirstRelease(madeAt: readonly number[], ours: ReadonlySet<number>): boolean {
  return Math.min(...madeAt) < Math.min(...ours)
}

/** A release must not write to a schema it does not know, unless the migration says that it may. */
export function refuseUnknownSchema(known: readonly AppliedMigration[], ours: ReadonlySet<number>): void {
  const madeAt = known.map((row) => row.madeAt)
  if (isBeforeFirstRelease(madeAt, ours)) {
    throw new GatewayError(
      'schema_too_old',
      '[storage] the database was made before the first release and cannot be brought up to this one; dump what you need from it, then move the data folder away, or set DATABASE_URL to a new, empty database, and start again',
    )
  }
  const foreign = known.filter((row) => !row.isCompatible && !ours.has(row.madeAt))
  if (foreign.length === 0) return
  throw new GatewayError(
    'schema_too_new',
    `[storage] the database has ${foreign.length} migration(s) this release does not know; start a release at least as new as the one that migrated it`,
  )
}

/** For a process that must not migrate, a Worker or a command: passes only where the schema was already brought to this release. */
export async function requireSchema(sql: Sql): Promise<void> {
  const ours = journal.entries.map((entry) => entry.when)
  const known = await readAppliedMigrations(sql).catch((error: unknown) => {
    // 42P01: no such table.
    if (isGatewayError(error) && error.details['sqlstate'] === '42P01') return []
    throw error
  })
  refuseUnknownSchema(known, new Set(ours))
  const missing = ours.filter((when) => !known.some((row) => row.madeAt === when)).length
  if (missing === 0) return
  throw new GatewayError(
    'schema_missing',
    `[storage] the database lacks ${missing} migration(s) of this release; run parley migrate on it, with DATABASE_URL set where it is a server`,
  )
}
