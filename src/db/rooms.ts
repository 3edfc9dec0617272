// Rooms and addresses of one connection that cannot be written to, as their platform told us.

import type { ClosedRooms } from '../contract/channel.ts'
import type { RoomStatusChange } from '../contract/inbound-event.ts'
import { type Database, nameStatement } from './client.ts'

/** The gateway notes, adapters ask. */
export type RoomStore = ClosedRooms & {
  readonly note: (change: RoomStatusChange, subject: string | null) => Promise<void>
}

export function createRoomStatusStore(
  database: Database,
  { tenant, connection }: { readonly tenant: string; readonly connection: string },
): RoomStore {
  return {
    async note({ room, closed, at }, subject) {
      await database.query(recordRoom, [tenant, connection, room, closed, subject, at])
    },
    async closed(place, runId) {
      const [row] = await database.query<{ reason: string }>(closedRoom, [tenant, connection, place, runId ?? null])
      return row?.reason
    },
  }
}

// $1 tenant, $2 connection, $3 room in both.

/** $4 reason or null, $5 whose it is or null, $6 when the platform says it changed. */
const recordRoom = nameStatement(
  'record_room_status',
  `
insert into room_status (tenant, connection, room, reason, subject, changed_at)
values ($1, $2, $3, $4, $5, $6::timestamptz)
on conflict (tenant, connection, room) do update
  set reason = excluded.reason, subject = excluded.subject, changed_at = excluded.changed_at, recorded_at = now()
where room_status.changed_at <= excluded.changed_at`,
)

/** $4 turn or null. A sender who wrote after that can be answered, whatever was said before. */
const closedRoom = nameStatement(
  'find_closed_room',
  `
select p.reason from room_status p
where p.tenant = $1 and p.connection = $2 and p.room = $3 and p.reason is not null
  and not exists (select 1 from inbox x where x.turn_id = $4::uuid and x.received_at > p.recorded_at)`,
)
