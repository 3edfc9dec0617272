// The transcript, read by window. $1 session, $2 lines from the start, $3 lines from the end, $4 tenant.
import { statement } from '../database.ts'

export const transcriptWindow = statement(
  'transcript_window',
  `
select envelope from (
  (select seq, envelope from messages where session_id = $1 and tenant = $4 and seq < $2 order by seq limit $2)
  union all
  (select seq, envelope from (
     select seq, envelope from messages where session_id = $1 and tenant = $4 and seq >= $2
     order by seq desc limit $3) latest)
) lines order by seq`,
)

/** $1 run, $2 key, $3 event. The same key again changes nothing. Held while it is written: a run that is gone gets no log. */
export const appendRunEvent = statement(
  'append_run_event',
  `
with run as materialized (select id from runs where id = $1 for share)
insert into run_events (run_id, seq, key, event)
select run.id, coalesce((select max(seq) + 1 from run_events where run_id = $1), 0), $2, $3::text::jsonb from run
on conflict (run_id, key) do nothing`,
)
