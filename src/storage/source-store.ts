// The port of pull sources on SQL.
import type { SourceHold, SourceStore } from '../inbound/source-store.ts'
import type { Database, Param, Statement } from './database.ts'
import { advanceSource, claimSource, releaseSource, renewSource } from './statements/sources.ts'
import type { LeaseOptions } from './turn-store.ts'

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
