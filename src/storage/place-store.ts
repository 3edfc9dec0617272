// Rooms and addresses of one connection that cannot be written to, on SQL.
import type { ClosedRooms, RoomStatusChange } from '../contract/index.ts'
import type { Database } from './database.ts'
import { closedRoom, recordRoom } from './statements/places.ts'

/** The gateway notes, adapters ask. */
export type RoomStore = ClosedRooms & {
  readonly note: (change: RoomStatusChange, subject: string | null) => Promise<void>
}

export function createRoomStore(
  database: Database,
  { tenant, connection }: { readonly tenant: string; readonly connection: string },
): RoomStore {
  return {
    async note({ place, closed, at }, subject) {
      await database.query(recordRoom, [tenant, connection, place, closed, subject, at])
    },
    async closed(place, runId) {
      const [row] = await database.query<{ reason: string }>(closedRoom, [tenant, connection, place, runId ?? null])
      return row?.reason
    },
  }
}
