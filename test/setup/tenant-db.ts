// The database as the gateway passes it around: for one tenant and one process.
import { randomUUID } from 'node:crypto'
import type { Database, Db } from '../../src/db/client.ts'

type Options = Partial<Pick<Db, 'tenant' | 'holder' | 'leaseMs' | 'takeOver' | 'newId'>>

export function openTenantDb(database: Database, options: string | Options = {}): Db {
  const given = typeof options === 'string' ? { tenant: options } : options
  return { ...database, tenant: 'default', holder: 'test', leaseMs: 60_000, newId: randomUUID, ...given }
}
