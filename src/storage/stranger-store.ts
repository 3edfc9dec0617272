// The day's share of people who are not admitted, on SQL.
import type { Charged, UnprovenSenderStore } from '../inbound/strangers.ts'
import type { Database } from './database.ts'
import { chargeUnprovenSenders } from './statements/strangers.ts'

type Row = { readonly isWithin: boolean; readonly isFirst: boolean; readonly secondsLeft: number }

export function createUnprovenSenderStore(database: Database, tenant: string): UnprovenSenderStore {
  return {
    async charge({ connection, kind, messages, receivedBytes, storedBytes }, limits): Promise<Charged> {
      const { messagesPerDay, receivedBytesPerDay, storedBytesPerDay } = limits
      const [row] = await database.query<Row>(chargeUnprovenSenders, [
        tenant,
        connection,
        kind,
        receivedBytes,
        storedBytes,
        messagesPerDay,
        receivedBytesPerDay,
        storedBytesPerDay,
        messages,
      ])
      if (row === undefined || row.isWithin) return { kind: 'within' }
      return { kind: 'spent', isFirst: row.isFirst, secondsLeft: Math.max(1, row.secondsLeft) }
    },
  }
}
