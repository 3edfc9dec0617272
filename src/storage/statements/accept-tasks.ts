// The parts of the accept statement that only batches with tasks need: a new task is stored with the message that asks for it;
// one that a caller goes on with must be theirs and not over.
//
//   claims    drafts that ask for a task or go on with one; an id their sender used for something else is taken
//   gone_on   tasks that get another message: as long as it waits they are not over
//   shut      drafts that are not taken, and why
//   tasked    new tasks, under the id of their first message
import { unindexed } from './by-key-alone.ts'
import { instantNow } from './iso-time.ts'
import { task } from './task-dossier.ts'

export const withTasks = {
  /** Whose task it is decides who may go on with it; the lane is locked first, as the worker that ends a turn does. */
  claims: `
claims as materialized (
  select i.ord, i.id, i.tenant, i.connection, i.subject, (i.task ->> 'known')::uuid as known, i.task,
    exists (select 1 from inbox x where x.dedupe_key = i.dedupe_key)
      or exists (select 1 from inp e where e.dedupe_key = i.dedupe_key and e.ord < i.ord) as is_taken
  from inp i
  where json_typeof(i.task) = 'object' and not exists (select 1 from known k where k.ord = i.ord)
),
going_on as materialized (
  select c.tenant, c.connection, c.subject, c.known, max(c.ord) as last from claims c
  where c.known is not null and not c.is_taken group by 1, 2, 3, 4
),
held_lanes as materialized (
  select l.conversation_id from lanes l
  where l.conversation_id = any(array(select t.conversation_id from tasks t join going_on g on t.id = g.known))
  order by l.conversation_id for update
),
gone_on as (
  update tasks t set waiting_id = (select c.id from claims c where c.ord = g.last),
    state = case when t.state in ('input_required', 'auth_required') then 'submitted' else t.state end,
    state_at = case when t.state in ('input_required', 'auth_required') then ${instantNow} else t.state_at end,
    said = case when t.state in ('input_required', 'auth_required') then null else t.said end
  from going_on g
  where t.id = g.known and ${unindexed('t.tenant')} = g.tenant and ${unindexed('t.connection')} = g.connection and t.ended_at is null
    and t.owner is not distinct from g.subject and (select count(*) from held_lanes) >= 0
  returning t.id, t.owner
),
shut as materialized (
  select c.ord, case when c.is_taken then 'id_taken'
    when exists (select 1 from tasks t where t.id = c.known and ${unindexed('t.tenant')} = c.tenant
      and ${unindexed('t.connection')} = c.connection and t.owner is not distinct from c.subject) then 'task_over' else 'task_unknown' end as reason
  from claims c
  where c.is_taken or c.known is not null and not exists (select 1 from gone_on t where t.id = c.known)
),`,
  isOpen: ' and not exists (select 1 from shut s where s.ord = i.ord)',
  column: ', task_id',
  value: `, (select coalesce(c.known, c.id) from claims c where c.ord = i.ord)`,
  begun: `
tasked as (
  insert into tasks (id, tenant, connection, agent, owner, context_id, conversation_id, state, state_at, dialect, metadata,
    waiting_id)
  select i.id, i.tenant, i.connection, p.taker, i.subject, i.task ->> 'contextId', p.conversation_id, 'submitted', ${instantNow},
    i.task ->> 'dialect', coalesce((i.task -> 'metadata')::jsonb, '{}'), i.id
  from inp i join placed p on p.ord = i.ord join inserted n on n.id = i.id
  where json_typeof(i.task) = 'object' and i.task ->> 'known' is null and n.state = 'queued'
  returning *
),`,
  refusal: '(select s.reason from shut s where s.ord = i.ord)',
  shown: `(select ${task} from tasked t where t.id = i.id)`,
} as const

export type TaskParts = Readonly<Record<keyof typeof withTasks, string>>

export const withoutTasks: TaskParts = {
  claims: '',
  isOpen: '',
  column: '',
  value: '',
  begun: '',
  refusal: 'null::text',
  shown: 'null::json',
}
