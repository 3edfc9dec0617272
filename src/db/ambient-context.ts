// The parts of `open_turn` for rooms: ambient context is remembered and bounded, and what a turn that begins
// there is given of it becomes the end of its transcript. In the same statement, so that a turn that is taken up again after a
// crash reads what it read before.
//
//   hearing    what is remembered from now on: not the words of a person who refused that theirs are kept
//   asked      what the turn may know: of its own conversation, or of the room's main line it was asked from; said before it
//   own        of its own conversation; it is in the transcript afterwards and nowhere else
//   shared     of the main line, or the message that began its thread: others may ask for it too
//   recalled   the newest of all these, as many as fit
import { maxAmbientMessages } from '../contract/channel.ts'

const columns = 'o.inbox_id, o.seq, o.subject, o.bytes, o.envelope'

/** The session has no line of it yet. */
const isNews = `not exists (select 1 from messages k where k.inbox_id = o.inbox_id and k.session_id = a."sessionId")`

/** A person's own decision counts, whatever the default is. */
const isUnwilling = `exists (
      select 1 from (
        select distinct on (c.operation) c.is_allowed from consents c
        where c.tenant = s.tenant and c.subject = m.principal and c.operation in ('store_transcript', 'store_memory')
        order by c.operation, c.created_at desc, c.id desc) w
      where not w.is_allowed)`

/** Follows `settled`, whose rows have `seq` and `ambient`. */
export const ambientContextSql = `
hearing as materialized (
  select s.id as inbox_id, s.tenant, s.connection, s.agent, s.conversation_id, s.seq, s.subject, s.event, m.*
  from settled s cross join lateral json_to_record(coalesce((s.ambient ->> 'memory')::json, '{}')) as m(
    room text, "mainLine" text, original uuid, principal text, minutes float8, bytes int, envelope jsonb)
  where m.room is not null and not ${isUnwilling}
),
asked as materialized (
  select c.tenant, c.connection, c.agent, g.id as turn_id, g."sessionId", g."isNewSession", r.*, (
    select max(x.seq) from inbox x
    where x.id = any(array(select (e ->> 'id')::uuid from json_array_elements($6::text::json) e))) as before
  from given g join conversations c on c.id = $1 cross join lateral json_to_record(coalesce(g.recall, '{}')) as r(
    room text, "mainLine" text, messages int, bytes int)
  where r.room is not null
),
own as (
  delete from ambient_context o using asked a
  where a."mainLine" is null and o.conversation_id = $1 and o.main_line is null and o.seq < a.before
  returning ${columns}, o.expires_at
),
shared as materialized (
  select ${columns} from asked a cross join lateral (
    select ${columns} from ambient_context o
    where a."mainLine" is not null and o.tenant = a.tenant and o.connection = a.connection and o.agent = a.agent
      and o.room = a.room and o.main_line = a."mainLine" and o.seq < a.before and o.expires_at > now() and ${isNews}
    order by o.seq desc limit a.messages for share) o
),
root as materialized (
  select ${columns} from asked a cross join lateral (
    select ${columns} from ambient_context o
    where a."mainLine" is null and o.conversation_id = $1 and o.main_line is not null and o.seq < a.before
      and o.expires_at > now() and ${isNews}
    for share) o
),
recalled as materialized (
  select k.inbox_id, k.subject, row_number() over (order by k.seq) - 1 as place, coalesce((
    -- Edited in the same breath.
    select h.envelope from hearing h where h.event = 'edit' and h.original = k.inbox_id order by h.seq desc limit 1),
    k.envelope) as envelope
  from (
    select o.*, row_number() over (order by o.seq desc) as rank, sum(o.bytes) over (order by o.seq desc) as total
    from (
      select ${columns} from own o where o.expires_at > now()
      union all select ${columns} from shared o
      union all select ${columns} from root o
      union all
      select ${columns} from hearing o, asked a where o.event = 'new' and a."mainLine" is null and o.seq < a.before) o
  ) k, asked a
  where k.rank <= a.messages and k.total <= a.bytes
),
remembered as (
  insert into ambient_context (inbox_id, tenant, connection, agent, room, main_line, conversation_id, seq, subject, principal, bytes,
    envelope, expires_at)
  select h.inbox_id, h.tenant, h.connection, h.agent, h.room, h."mainLine", h.conversation_id, h.seq, h.subject, h.principal,
    h.bytes, h.envelope, now() + h.minutes * interval '1 minute'
  from hearing h
  where h.event = 'new' and not exists (select 1 from asked a where a."mainLine" is null and h.seq < a.before)
  on conflict do nothing
),
-- As many as came now make room for them: of those that were there before, the oldest.
crowded as (
  delete from ambient_context o where o.inbox_id = any(array(
    select f.inbox_id from (
      select h.tenant, h.connection, h.agent, h.room, count(*) as came from hearing h where h.event = 'new'
      group by 1, 2, 3, 4) n
    cross join lateral (
      select o.inbox_id from ambient_context o
      where o.tenant = n.tenant and o.connection = n.connection and o.agent = n.agent and o.room = n.room
      order by o.seq desc offset greatest(${maxAmbientMessages} - n.came, 0) for update skip locked) f))
),
reworded as (
  update ambient_context o set envelope = h.envelope, bytes = h.bytes from hearing h
  where h.event = 'edit' and o.inbox_id = h.original
),
-- Worded so that only the index by message can serve.
corrected as (
  update messages m set envelope = m.envelope || jsonb_build_object(
    'type', h.envelope -> 'type', 'content', h.envelope -> 'content', 'payload', h.envelope -> 'payload')
  from hearing h
  where h.event = 'edit' and m.inbox_id = any(array(select e.original from hearing e where e.event = 'edit'))
    and m.inbox_id = h.original and m.role = 'ambient' and m.envelope #>> '{metadata,deleted}' is distinct from 'true'
),
-- Before the turn writes: a sender who deletes a message waits here for a turn that is being given it, and then erases its line.
unheard as (delete from ambient_context o using given g where o.inbox_id = g.unheard),
numbered as (
  update sessions s set next_seq = s.next_seq + (select count(*) from recalled) from asked a
  where s.id = a."sessionId" and not a."isNewSession"
  returning s.next_seq - (select count(*) from recalled) as first_seq
),
around as (
  insert into messages (session_id, seq, tenant, turn_id, inbox_id, role, envelope)
  select a."sessionId", coalesce((select first_seq from numbered), 0) + r.place, a.tenant, a.turn_id, r.inbox_id, 'ambient',
    r.envelope
  from recalled r, asked a
),
-- A person to erase is found by the conversations they take part in.
present as (
  insert into participants (conversation_id, subject)
  select distinct $1::uuid, r.subject from recalled r where r.subject is not null order by 2
  on conflict do nothing
),`
