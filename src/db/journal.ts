// The journal of a turn: every effect is a step row, started before it and finished after it.
import type { Json } from '../lib/json-value.ts'
import { type Db, nameStatement, type Param } from './client.ts'

export type StepAddress = {
  readonly conversationId: string
  readonly epoch: number
  readonly turnId: string
  /** Whose journal it is: the turn itself, or the dead one that it goes on with. */
  readonly journalTurn: string
  readonly step: string
}

export type StepFacts = {
  readonly isIdempotent: boolean
  /** What people are told it is. */
  readonly label: string
}

export type StepState =
  /** Ours to run now; the start is committed. */
  | { readonly kind: 'run' }
  | { readonly kind: 'finished'; readonly result: Json }
  /** Begun before and not finished, or failed there: it may or may not have happened. */
  | { readonly kind: 'unknown'; readonly error: string | null }
  /** The run was stopped before this step began. */
  | { readonly kind: 'stopped'; readonly by: string }
  | { readonly kind: 'lease_lost' }

export type StepEnd =
  | { readonly state: 'finished'; readonly result: Json }
  /** It threw: what it did until then was done, so it is not tried again unless it is idempotent. */
  | { readonly state: 'failed'; readonly error: string }
  /** Nothing happened: a later attempt runs it again. */
  | { readonly state: 'undone'; readonly error: string }

export type RecordedStep = {
  readonly step: string
  readonly label: string | null
  /** It may have changed something outside; false: a look-up, or a model's answer. */
  readonly isEffect: boolean
  readonly state: 'started' | 'finished' | 'failed' | 'undone'
  readonly result: Json
  readonly error: string | null
}

/** What a turn that is taken up again knows of its earlier tries. */
export type TurnPast = {
  readonly journalTurn: string
  readonly steps: readonly RecordedStep[]
  /** Which lines of its session it was shown; null: none. */
  readonly view: TurnView | null
  /** Lines of its session were erased since. */
  readonly isErased: boolean
}

/** By reference: the lines of the session before `until`, the first `head` and the last `tail` of them, and the ambient context. */
export type TurnView = {
  readonly head: number
  readonly tail: number
  readonly around: number
  readonly until: number
}

/** A step of a call to a remote agent, by its name. */
type RemoteStep = { readonly step: string; readonly state: string; readonly result: Json | null }

export interface JournalStore {
  begin(address: StepAddress, facts: StepFacts): Promise<StepState>
  /** False: the lease was lost and nothing was written. */
  finish(address: StepAddress, end: StepEnd): Promise<boolean>
  /** A step without effect, which needs no start. False: the lease was lost and nothing was written. */
  record(address: StepAddress, end: StepEnd, tookMs: number): Promise<boolean>
  past(turnId: string): Promise<TurnPast>
  /** What a turn began with remote agents. */
  remoteSteps(journalTurn: string): Promise<readonly RemoteStep[]>
}

type BeginRow = {
  readonly held: number
  readonly begun: number
  readonly state: string | null
  readonly result: Json
  readonly error: string | null
  readonly stoppedBy: string | null
}

export function createJournalStore(db: Db): JournalStore {
  const fencedStepParams = (at: StepAddress): readonly Param[] => [
    at.conversationId,
    db.holder,
    at.epoch,
    at.journalTurn,
    at.step,
  ]
  return {
    async begin(at, { isIdempotent, label }) {
      const rows = await db.query<BeginRow>(beginStep, [...fencedStepParams(at), at.turnId, isIdempotent, label])
      return stepStateFromBeginRow(rows[0], isIdempotent)
    },
    async finish(at, end) {
      const [row] = await db.query<{ ended: number }>(finishStep, [...fencedStepParams(at), ...stepEndParams(end)])
      return (row?.ended ?? 0) > 0
    },
    async record(at, end, tookMs) {
      const [row] = await db.query<{ ended: number }>(recordStep, [
        ...fencedStepParams(at),
        ...stepEndParams(end),
        tookMs,
      ])
      return (row?.ended ?? 0) > 0
    },
    async past(turnId) {
      const [row] = await db.query<TurnPast>(turnPast, [turnId])
      return row ?? { journalTurn: turnId, steps: [], view: null, isErased: false }
    },
    remoteSteps: (journalTurn) => db.query<RemoteStep>(remoteSteps, [journalTurn]),
  }
}

function stepEndParams(end: StepEnd): readonly Param[] {
  return end.state === 'finished' ? [end.state, JSON.stringify(end.result), null] : [end.state, null, end.error]
}

function stepStateFromBeginRow(row: BeginRow | undefined, isIdempotent: boolean): StepState {
  if (row === undefined || row.held === 0) return { kind: 'lease_lost' }
  if (row.begun > 0) return { kind: 'run' }
  if (row.state === 'finished') return { kind: 'finished', result: row.result }
  // It would have run, had the run not been stopped.
  const isOurs = row.state === null || row.state === 'undone' || isIdempotent
  if (row.stoppedBy !== null && isOurs) return { kind: 'stopped', by: row.stoppedBy }
  return { kind: 'unknown', error: row.error }
}

// $1 conversation, $2 holder, $3 epoch fence the write; $4 the turn whose journal it is, $5 step.

/**
 * $6 turn, $7 whether the step may run again, $8 label. The start is committed before the effect. A start of this very epoch is
 * one whose answer went missing: nothing ran since. Once a stop of the run is committed no step of it begins any more, in
 * whichever replica it runs.
 */
const beginStep = nameStatement(
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
const finishStep = nameStatement(
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
const recordStep = nameStatement(
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
const turnPast = nameStatement(
  'read_journal',
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
const remoteSteps = nameStatement(
  'remote_steps',
  `
select step, state, result from journal
where turn_id = $1 and step ~ '(^|/)remote (agent|message|answer):' and state in ('started', 'finished')
order by step limit 256`,
)
