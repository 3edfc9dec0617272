// The journal. $1 conversation, $2 holder, $3 epoch fence the write; $4 the turn whose journal it is, $5 step.
import { statement } from '../database.ts'

/**
 * $6 turn, $7 whether the step may run again, $8 label. The start is committed before the effect. A start of this very epoch is
 * one whose answer went missing: nothing ran since. Once a stop of the run is committed no step of it begins any more, in
 * whichever replica it runs.
 */
export const beginStep = statement(
  'begin_step',
  `
with lane as materialized (
  select conversation_id from lanes
  where conversation_id = $1 and holder = $2 and epoch = $3 and lease_until > now() for update
),
prior as materialized (select state, result, error, epoch from journal where turn_id = $4 and step = $5),
stopped as materialized (select cancelled_by from runs where id = $6 and cancel_requested_at is not null),
begun as (
  insert into journal (turn_id, step, state, epoch, label)
  select $4, $5, 'started', $3, $8 from lane
  where not exists (select 1 from stopped)
    and not exists (select 1 from prior
      where state = 'finished' or (state <> 'undone' and not $7::boolean and not (state = 'started' and epoch = $3)))
  on conflict (turn_id, step) do update set state = 'started', epoch = excluded.epoch, started_at = now(), error = null,
    finished_at = null
  returning 1
)
select (select count(*)::int from lane) as held, (select count(*)::int from begun) as begun,
  (select state from prior) as state, (select result from prior) as result, (select error from prior) as error,
  (select coalesce(cancelled_by, '') from stopped) as "stoppedBy"`,
)

/** $6 state (finished, failed or undone), $7 result as JSON or null, $8 error or null. */
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

/** The same for a step without effect, which was not begun before. $9 how long it took in ms. */
export const recordStep = statement(
  'record_step',
  `
with lane as materialized (
  select conversation_id from lanes where conversation_id = $1 and holder = $2 and epoch = $3 for update
),
ended as (
  insert into journal (turn_id, step, is_effect, state, epoch, result, error, started_at, finished_at)
  select $4, $5, false, $6, $3, $7::text::jsonb, $8::text, now() - $9::float8 * interval '1 ms', now() from lane
  on conflict (turn_id, step) do update set state = excluded.state, epoch = excluded.epoch, result = excluded.result,
    error = excluded.error, started_at = excluded.started_at, finished_at = excluded.finished_at
  returning 1
)
select count(*)::int as ended from ended`,
)

/** $1 turn. */
export const turnPast = statement(
  'turn_past',
  `
select coalesce(t.journal_turn, t.id) as "journalTurn", t.view,
  t.view is not null and (t.view ->> 'erasures')::int <> coalesce((select s.erasures from sessions s where s.id = t.session_id), -1)
    as "isErased",
  coalesce((
    select json_agg(json_build_object('step', j.step, 'label', j.label, 'isEffect', j.is_effect, 'state', j.state,
      'result', j.result, 'error', j.error) order by j.started_at, j.step)
    from journal j where j.turn_id = coalesce(t.journal_turn, t.id)), '[]') as steps
from turns t where t.id = $1`,
)

/** $1 the turn whose journal it is. */
export const remoteSteps = statement(
  'remote_steps',
  `
select step, state, result from journal
where turn_id = $1 and step ~ '(^|/)remote (agent|message|answer):' and state in ('started', 'finished')
order by step limit 256`,
)
