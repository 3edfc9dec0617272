// Rooms and addresses that cannot be written to, as their platform told us. $1 tenant, $2 connection, $3 place in both.
import { statement } from '../database.ts'

/** $4 reason or null, $5 whose it is or null, $6 when the platform says it changed. */
export const recordRoom = statement(
  'note_place',
  `
insert into closed_places (tenant, connection, place, reason, subject, changed_at)
values ($1, $2, $3, $4, $5, $6::timestamptz)
on conflict (tenant, connection, place) do update
  set reason = excluded.reason, subject = excluded.subject, changed_at = excluded.changed_at, noted_at = now()
where closed_places.changed_at <= excluded.changed_at`,
)

/** $4 turn or null. A sender who wrote after that can be answered, whatever was said before. */
export const closedRoom = statement(
  'closed_place',
  `
select p.reason from closed_places p
where p.tenant = $1 and p.connection = $2 and p.place = $3 and p.reason is not null
  and not exists (select 1 from inbox x where x.turn_id = $4::uuid and x.received_at > p.noted_at)`,
)
