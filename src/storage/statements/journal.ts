// The journal (ruling 16). $1 conversation, $2 holder, $3 epoch fence the write; $4 turn, $5 parent turn, $6 step.
import { statement } from '../database.ts'

/**
 * $7 args hash, $8 whether the step may run again, $9 whether it was told apart by its name alone. The start is committed
 * before the effect. What the turns before this one did (merged, split, resubmitted) counts for it, the nearest first.
 * Once a stop of the run is committed no step of it begins any more, in whichever replica it runs.
 */
export const beginStep = statement(
  'begin_step',
  `
with recursive lane as materialized (
  select conversation_id from lanes
  where conversation_id = $1 and holder = $2 and epoch = $3 and lease_until > now() for update
),
line as (
  select $4::uuid as id, 0 as depth
  union all
  select case when line.depth = 0 then $5::uuid else (select t.parent_turn from turns t where t.id = line.id) end,
    line.depth + 1
  from line where line.id is not null and line.depth < 8
),
before as materialized (
  select line.depth, j.turn_id, j.state, j.result, j.error,
    -- Used more than once under one name: whose effect it was cannot be told any more.
    line.depth > 0 and $9::boolean
      and exists (select 1 from journal twin where twin.turn_id = line.id and twin.step = $6 || '#2') as "isVague"
  from line join journal j on j.turn_id = line.id and j.step = $6 and (line.depth = 0 or j.args_hash = $7)
),
prior as materialized (
  select * from before where state <> 'undone' and (depth = 0 or state <> 'failed') order by depth limit 1
),
stopped as materialized (select cancelled_by from runs where id = $4 and cancel_requested_at is not null),
begun as (
  insert into journal (turn_id, step, args_hash, state, epoch)
  select $4, $6, $7, 'started', $3 from lane
  where not exists (select 1 from stopped)
    and (not exists (select 1 from prior)
      or ($8::boolean and exists (select 1 from prior where state <> 'finished' and not "isVague")))
  on conflict (turn_id, step) do update set state = 'started', epoch = excluded.epoch, started_at = now()
  returning 1
)
select (select count(*)::int from lane) as held, (select count(*)::int from begun) as begun,
  (select case when "isVague" then 'vague' else state end from prior) as state,
  (select result from prior) as result, (select error from prior) as error,
  (select coalesce(cancelled_by, '') from stopped) as "stoppedBy",
  (select turn_id from before where depth > 0 order by depth desc limit 1) as "keyTurn"`,
)

/** $5 step, $6 state (finished, failed or undone), $7 result as JSON or null, $8 error or null. */
export const finishStep = statement(
  'finish_step',
  `
with lane as materialized (
  select conversation_id from lanes where conversation_id = $1 and holder = $2 and epoch = $3 for update
),
ended as (
  update journal j set state = $6, result = $7::text::jsonb, error = $8::text, finished_at = now()
  from lane where j.turn_id = $4 and j.step = $5 and j.epoch = $3
  returning 1
)
select count(*)::int as ended from ended`,
)

/** $1 turn, $2 the one before it or null. Its own come first. */
export const remoteSteps = statement(
  'remote_steps',
  `
select step, state, result from journal
where turn_id in ($1::uuid, $2::uuid) and step ~ '(^|/)remote (agent|message|answer):' and state in ('started', 'finished')
order by turn_id = $1 desc, step limit 256`,
)
