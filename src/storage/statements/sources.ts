// Pull sources: a lease and a cursor per connection. $1 tenant, $2 connection, $3 holder in all of them; after the claim every
// write is fenced by $4 epoch.
import { statement } from '../database.ts'

/** A connection has one source. */
const source = "''"

/** $4 lease in ms. */
export const claimSource = statement(
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
export const renewSource = statement(
  'renew_source',
  `update pull_cursors set lease_until = now() + $5::float8 * interval '1 ms' ${fenced}`,
)

/** $5 cursor. */
export const advanceSource = statement('advance_source', `update pull_cursors set cursor = $5 ${fenced}`)

export const releaseSource = statement(
  'release_source',
  `update pull_cursors set lease_until = null, holder = null ${fenced}`,
)

/** For a database only one process can open: their former holder is dead. */
export const freeSources = statement(
  'free_sources',
  'update pull_cursors set lease_until = null, holder = null where holder is not null',
)
