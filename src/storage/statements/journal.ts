// The journal (ruling 16). $1 conversation, $2 holder, $3 epoch fence the write; $4 turn, $5 parent turn, $6 step.
import { statement } from '../database.ts'

/** $7 args hash, $8 whether the step may run again. The start is committed before the effect. */
export const beginStep = statement(
  'begin_step',
  `
with lane as materialized (
  select conversation_id from lanes
  where conversation_id = $1 and holder = $2 and epoch = $3 and lease_until > now() for update
),
prior as materialized (
  select state, result, error from journal
  where step = $6 and (turn_id = $4 or (turn_id = $5::uuid and args_hash = $7 and state <> 'failed'))
  order by (turn_id = $4) desc limit 1
),
begun as (
  insert into journal (turn_id, step, args_hash, state, epoch)
  select $4, $6, $7, 'started', $3 from lane
  where not exists (select 1 from prior) or ($8::boolean and exists (select 1 from prior where state <> 'finished'))
  on conflict (turn_id, step) do update set state = 'started', epoch = excluded.epoch, started_at = now()
  returning 1
)
select (select count(*)::int from lane) as held, (select count(*)::int from begun) as begun,
  (select state from prior) as state, (select result from prior) as result, (select error from prior) as error,
  (select turn_id from journal where turn_id = $5::uuid and step = $6 and args_hash = $7) as "keyTurn"`,
)

/** $5 step, $6 result as JSON or null, $7 error or null. */
export const finishStep = statement(
  'finish_step',
  `
with lane as materialized (
  select conversation_id from lanes where conversation_id = $1 and holder = $2 and epoch = $3 for update
),
ended as (
  update journal j set state = case when $7::text is null then 'finished' else 'failed' end,
    result = $6::text::jsonb, error = $7::text, finished_at = now()
  from lane where j.turn_id = $4 and j.step = $5 and j.epoch = $3
  returning 1
)
select count(*)::int as ended from ended`,
)
