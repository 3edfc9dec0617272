// Conversations with a past: ten messages, or ten thousand. The first turn is a real one; the past behind it is copied.
import { nameStatement } from '../../src/db/client.ts'
import type { LoopGateway } from './gateway.ts'

export const shortLength = 10
export const longLength = 10_000

/** $1 external ids as JSON, $2 how many lines each session has in the end: the two real ones over and over. */
const grow = nameStatement(
  'bench_grow_sessions',
  `
with grown as materialized (
  select s.id, s.tenant from sessions s join conversations c on c.session_id = s.id
  where c.external_id in (select json_array_elements_text($1::text::json))
),
copied as (
  insert into messages (session_id, seq, tenant, role, envelope)
  select g.id, n, g.tenant, m.role, m.envelope from grown g
  cross join generate_series(2, $2::int - 1) as n
  join messages m on m.session_id = g.id and m.seq = n % 2
)
update sessions s set next_seq = $2::int from grown g where s.id = g.id`,
)

export async function growSessions(gateway: LoopGateway, conversations: readonly string[], length: number) {
  await gateway.takeTurns('answer', conversations)
  // One at a time: a statement over eighty thousand rows would take long.
  for (const conversation of conversations) await gateway.database.query(grow, [JSON.stringify([conversation]), length])
}
