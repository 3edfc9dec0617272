// A thread as its own sender reads it again. $1 tenant, $2 connection, $3 agents as JSON, $4 subject, $5 their name for it,
// $6 before which message or null, $7 how many. Conversations are looked up agent by agent, as their keys are made.
import { statement } from '../database.ts'
import { ownThreads } from './own-thread.ts'

const isShown = `m.role in ('user', 'assistant') and m.envelope ->> 'type' in ('text', 'multimodal_part')
  and m.envelope #>> '{metadata,deleted}' is distinct from 'true' and m.envelope #>> '{metadata,event}' is distinct from 'delete'`

/** The same two ways by which a message of theirs finds its conversation: a name they take part under, and one that is theirs alone. */
export const readThread = statement(
  'read_thread',
  `
with own as materialized (
  select f.id from json_array_elements_text($3::text::json) agent(slug) cross join lateral (
    select a.conversation_id as id from conversation_aliases a
    where a.tenant = $1 and a.connection = $2 and a.agent = agent.slug and a.external_id = $5
    union
    select c.id from conversations c
    where c.tenant = $1 and c.connection = $2 and c.agent = agent.slug and c.external_id = ${ownThreads('$4::text')} || $5
  ) f
  where exists (select 1 from participants p where p.conversation_id = f.id and p.subject = $4)
),
said as (
  select m.created_at, m.session_id, m.seq, m.envelope from own
  join sessions s on s.conversation_id = own.id and s.tenant = $1 and s.status <> 'deleted'
  join messages m on m.session_id = s.id
  where ${isShown}
),
mark as materialized (
  select created_at, session_id, seq from said where envelope #>> '{metadata,message_id}' = $6
  order by created_at desc, session_id desc, seq desc limit 1
),
page as (
  select * from said
  where $6::text is null or (created_at, session_id, seq) < (select created_at, session_id, seq from mark)
  order by created_at desc, session_id desc, seq desc limit $7
)
select (select count(*)::int from own) as threads, (
  select coalesce(json_agg(json_build_object('sessionId', session_id, 'seq', seq, 'envelope', envelope)
    order by created_at, session_id, seq), '[]') from page) as lines`,
)
