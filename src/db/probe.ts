// The readiness probe: whether messages could be stored now, found out by writing.
import { isGatewayError } from '../lib/errors.ts'
import { type Database, nameStatement } from './client.ts'

/** Throws with the statement and its SQLSTATE where nothing can be stored. */
export async function probeStorage({ accepting }: Pick<Database, 'accepting'>, tenant: string): Promise<void> {
  await accepting.query(probe, [tenant])
  await accepting.query(probeRoom, []).catch((error: unknown) => {
    // 53400: temp_file_limit allows no such file, which says nothing about the disk.
    if (!isGatewayError(error) || error.details['sqlstate'] !== '53400') throw error
  })
}

// A row of its own is written; the tables an inbound event needs are only locked.

/** $1 tenant. A database that only reads, a locked table and a full disk for the log of writes are errors. */
const probe = nameStatement(
  'probe',
  `
with stored as (insert into inbox (id) select gen_random_uuid() where false),
queued as (insert into lanes (conversation_id) select gen_random_uuid() where false),
written as (
  insert into storage_probes (tenant, probed_at) values ($1, now())
  on conflict (tenant) do update set probed_at = excluded.probed_at
)
select 1 as ok`,
)

/**
 * Whether there is room on the disk. A row that is written again finds room in its own page long after new rows find none; a
 * result beyond the memory of a statement goes to a file, which needs room and leaves nothing behind. The limit is set before
 * the rows are asked for, since how many are asked for is read from it.
 */
const probeRoom = nameStatement(
  'probe_room',
  `
with small as materialized (select set_config('work_mem', '64kB', true) as limit_set)
select count(*)::int as rows
from small, lateral generate_series(1, case when small.limit_set = '64kB' then 20000 end) as n`,
)
