// Notes of a connection: small, shared by replicas, each with an end. $1 tenant, $2 connection, $3 family, $4 key in all of them.
import { statement } from '../database.ts'

const here = 'tenant = $1 and connection = $2 and family = $3'

/** $5 value (JSON), $6 life in ms, $7 subject or null, $8 at most so many or null, $9 whether one that is there stays. */
export const putTtlValue = statement(
  'keep_note',
  `
insert into connection_notes as n (tenant, connection, family, key, value, expires_at, subject)
select $1, $2, $3, $4::text, $5::text::jsonb, now() + $6::float8 * interval '1 ms', $7::text
where $8::int is null or (select count(*) from connection_notes where ${here} and expires_at > now()) < $8::int
on conflict (tenant, connection, family, key) do update
  set value = excluded.value, expires_at = excluded.expires_at, subject = excluded.subject
  where not $9::boolean or n.expires_at <= now()
returning 1 as kept`,
)

export const readTtlValue = statement(
  'read_note',
  `select value from connection_notes where ${here} and key = $4 and expires_at > now()`,
)

/** Of two that take it at the same moment one gets it: the other finds the row gone. */
export const takeTtlValue = statement(
  'take_note',
  `delete from connection_notes where ${here} and key = $4 returning value, expires_at > now() as "isInTime"`,
)
