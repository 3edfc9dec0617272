// A task with what was asked and what was said, as its owner is shown it: from its rows, or from the very commit that ends a turn.
import { isoTimeSql } from './client.ts'

const fields: Readonly<Record<string, string>> = {
  id: 't.id',
  contextId: 't.context_id',
  agent: 't.agent',
  owner: 't.owner',
  state: 't.state',
  stateAt: isoTimeSql('t.state_at'),
  createdAt: isoTimeSql('t.created_at'),
  dialect: 't.dialect',
  metadata: 't.metadata',
  said: 't.status_message',
}
export const taskColumns = Object.entries(fields)
  .map(([name, value]) => `${value} as "${name}"`)
  .join(', ')
export const task = `json_build_object(${Object.entries(fields)
  .map(([name, value]) => `'${name}', ${value}`)
  .join(', ')})`

/** Of a turn `u` and an event `e` of its log. */
export const line = `json_build_object('order', u.task_order, 'seq', e.seq, 'runId', u.id, 'at', ${isoTimeSql('e.created_at')}, 'event', e.event)`

const asked = `coalesce((select json_agg(json_build_object('payload', x.message -> 'task_payload', 'at', ${isoTimeSql('x.received_at')}) order by x.seq)
    from inbox x where x.task_id = t.id and x.message -> 'task_payload' is not null), '[]')`

/** What code threw is the operator's: no caller of a task is shown it. Of an event `e` of a run's log. */
export const isEventVisibleToCallerSql = (e: string): string => `${e}.event ->> 'type' <> 'exception'`

/** Words count only as long as their turn has no end; what the turn did otherwise is no part of the task. */
const isTold = `(e.event ->> 'type' = 'done' or (e.event ->> 'type' in ('text_delta', 'reset') and u.state = 'running')
      or e.seq = (select max(m.seq) from run_events m where m.run_id = u.id and ${isEventVisibleToCallerSql('m')}))`

/** `from`: the task, as `t`. */
export const taskRecordSql = (from: string): string => `
select ${task} as task, ${asked} as asked,
  coalesce((select json_agg(${line} order by u.task_order, e.seq) from turns u join run_events e on e.run_id = u.id
    where u.task_id = t.id and ${isTold}), '[]') as lines
from ${from}`

/**
 * SQL: the same as JSON, in the statement that ends a turn of it, from what that statement has just written: `tasked`, `turn`, `told`.
 * Null where the turn left no line in its log.
 */
export const endedTaskRecordSql = `(
  select json_build_object('task', ${task}, 'asked', ${asked}, 'lines', (
    select json_agg(l.line order by l.task_order, l.seq) from (
      select u.task_order, e.seq, ${line} as line from turns u join run_events e on e.run_id = u.id
      where u.task_id = t.id and case when u.id = turn.id then e.event ->> 'type' = 'done' else ${isTold} end
      union all
      select u.task_order, e.seq, ${line} from turn u, told e
      where e.event ->> 'type' = 'done' or e.seq = (select max(m.seq) from told m where ${isEventVisibleToCallerSql('m')})) l))
  from tasked t, turn where exists (select 1 from told))`
