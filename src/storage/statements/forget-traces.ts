// What is left of a person once their conversations are gone: receipts, pairings, and what was written down about them.
// $1 tenant, $2 the names they go by, as a JSON array.
import { statement } from '../database.ts'
import { aPerson } from './forget-reach.ts'
import { turnedBy } from './own-thread.ts'

const { isTheirs } = aPerson

/** A decision about a pairing locks it first; what waited for one that is gone is refused with it. */
export const erasePersonPairings = statement(
  'forget_pairings',
  `
with gone as (delete from pairings p where p.tenant = $1 and ${isTheirs('p.subject')} returning p.id),
held as (
  update inbox x set state = 'refused', reason = 'forgotten', ended_at = now(), message = null, raw = null, reply_to = null
  from gone where x.pairing_id = gone.id and x.state = 'held' returning 1
)
select (select count(*)::int from gone) as pairings, (select count(*)::int from held) as "inFlight"`,
)

/** Looked through as a whole: of a room there are never many, and they are there for a while only. */
export const erasePersonAmbient = statement(
  'forget_their_talk',
  `
with gone as (
  delete from overheard o where o.tenant = $1 and (${isTheirs('o.subject')} or ${isTheirs('o.principal')}) returning 1)
select count(*)::int as overheard from gone`,
)

/** $3 batch. Their objects go with the next sweep, unless another sender sent the same bytes. */
export const erasePersonAttachments = statement(
  'forget_attachments',
  `
with old as materialized (select a.id from attachments a where a.tenant = $1 and ${isTheirs('a.owner')} limit $3),
gone as (delete from attachments a using old where a.tenant = $1 and a.id = old.id returning 1)
select count(*)::int as attachments from gone`,
)

/** Few rows each; the names themselves are not among them. */
export const erasePersonRecords = statement(
  'forget_written',
  `
with granted as (delete from grants g where g.tenant = $1 and ${isTheirs('g.subject')} returning 1),
given as (
  update grants g set created_by = case when ${isTheirs('g.created_by')} then 'forgotten' else g.created_by end,
    revoked_by = case when ${isTheirs('g.revoked_by')} then 'forgotten' else g.revoked_by end
  where g.tenant = $1 and not ${isTheirs('g.subject')} and (${isTheirs('g.created_by')} or ${isTheirs('g.revoked_by')})
),
paired as (
  update pairings p set decided_by = 'forgotten' where p.tenant = $1 and ${isTheirs('p.decided_by')}
),
held as (delete from tokens t where t.tenant = $1 and ${isTheirs('t.principal')} returning 1),
made as (
  update tokens t set created_by = 'forgotten'
  where t.tenant = $1 and ${isTheirs('t.created_by')} and (t.principal is null or not ${isTheirs('t.principal')})
),
agreed as (delete from consents c where c.tenant = $1 and ${isTheirs('c.subject')} returning 1),
noted as (delete from connection_notes n where n.tenant = $1 and ${isTheirs('n.subject')} returning 1),
recorded as (delete from channel_records r where r.tenant = $1 and ${isTheirs('r.subject')} returning 1),
buried as (delete from tombstones s where s.tenant = $1 and ${isTheirs('s.subject')} returning 1),
parted as (delete from farewells f where f.tenant = $1 and ${isTheirs('f.subject')}),
closed as (delete from closed_places c where c.tenant = $1 and ${isTheirs('c.subject')}),
called as (
  delete from caller_chains c where c.tenant = $1 and (${isTheirs('c.root')} or ${isTheirs('c.host')}) returning 1
),
unsteered as (
  delete from thread_agents a using json_array_elements_text($2::text::json) n(name)
  where a.tenant = $1 and starts_with(a.external_id, ${turnedBy('n.name')})
),
stopped as (update runs r set cancelled_by = 'forgotten' where r.tenant = $1 and ${isTheirs('r.cancelled_by')})
select (select count(*)::int from granted) as grants, (select count(*)::int from held) as tokens,
  (select count(*)::int from agreed) as consents, (select count(*)::int from buried) as tombstones,
  (select count(*)::int from called) as chains, (select count(*)::int from recorded) as records`,
)

/** $3 who did it, $4 how it ended, $5 counts as JSON. Last of all the names; the audit log's lines then name no person. */
export const erasePersonNames = statement(
  'forget_names',
  `
with unlinked as (
  delete from identity_links l where l.tenant = $1 and $4 = 'done' and (${isTheirs('l.subject')} or ${isTheirs('l.principal')})
  returning 1
),
nameless as (delete from principals p where p.tenant = $1 and $4 = 'done' and ${isTheirs('p.subject')} returning 1),
told as (
  insert into audit_log (tenant, action, outcome, actor, detail)
  select $1, 'forget', $4, $3, $5::text::jsonb || jsonb_build_object(
    'links', (select count(*) from unlinked), 'principals', (select count(*) from nameless))
  where exists (select 1 from unlinked) or exists (select 1 from nameless)
    or exists (select 1 from jsonb_each_text($5::text::jsonb) n where n.value <> '0')
)
select (select count(*)::int from unlinked) as links, (select count(*)::int from nameless) as principals`,
)

/** What there is, apart from the receipts. */
export const countPerson = statement(
  'count_person',
  `
with theirs as materialized (
  select p.conversation_id as id, not exists (
      select 1 from participants o where o.conversation_id = p.conversation_id and not ${isTheirs('o.subject')}) as is_alone
  from participants p join conversations c on c.id = p.conversation_id and c.tenant = $1
  where ${isTheirs('p.subject')} group by p.conversation_id
),
mine as materialized (
  select t.id from theirs join turns t on t.conversation_id = theirs.id where theirs.is_alone or ${isTheirs('t.principal')}
),
said as materialized (
  select count(*)::int as lines from theirs join sessions s on s.conversation_id = theirs.id
    join messages m on m.session_id = s.id where theirs.is_alone or m.turn_id in (select id from mine)
)
select (select count(*)::int from theirs where is_alone) as conversations,
  (select count(*)::int from theirs where not is_alone) as "sharedConversations",
  (select count(*)::int from theirs join sessions s on s.conversation_id = theirs.id where theirs.is_alone) as sessions,
  (select lines from said) as lines, (select count(*)::int from mine) as turns,
  (select count(*)::int from mine join outbox o on o.turn_id = mine.id) as calls,
  (select count(*)::int from mine join pending_actions a on a.turn_id = mine.id)
    + (select count(*)::int from mine join runtime_tool_requests q on q.turn_id = mine.id) as waits,
  (select count(*)::int from mine join timers t on t.origin = mine.id) as timers,
  (select count(*)::int from attachments a where a.tenant = $1 and (${isTheirs('a.owner')} or a.session_id in (
    select s.id from theirs join sessions s on s.conversation_id = theirs.id where theirs.is_alone))) as attachments,
  (select count(*)::int from overheard o where o.tenant = $1 and (${isTheirs('o.subject')} or ${isTheirs('o.principal')})) as overheard,
  (select count(*)::int from grants g where g.tenant = $1 and ${isTheirs('g.subject')}) as grants,
  (select count(*)::int from pairings p where p.tenant = $1 and ${isTheirs('p.subject')}) as pairings,
  (select count(*)::int from tokens t where t.tenant = $1 and ${isTheirs('t.principal')}) as tokens,
  -- What they said, and what was decided about sessions of theirs alone.
  (select count(*)::int from consents c where c.tenant = $1 and (${isTheirs('c.subject')} or c.session_id in (
    select s.id from theirs join sessions s on s.conversation_id = theirs.id where theirs.is_alone))) as consents,
  (select count(*)::int from tombstones b where b.tenant = $1 and ${isTheirs('b.subject')}) as tombstones,
  (select count(*)::int from channel_records r where r.tenant = $1 and ${isTheirs('r.subject')}) as records,
  (select count(*)::int from caller_chains h
    where h.tenant = $1 and (${isTheirs('h.root')} or ${isTheirs('h.host')})) as chains,
  (select count(*)::int from identity_links l
    where l.tenant = $1 and (${isTheirs('l.subject')} or ${isTheirs('l.principal')})) as links,
  (select count(*)::int from principals p where p.tenant = $1 and ${isTheirs('p.subject')}) as principals`,
)

/** $1 batch, $2 tenant. Conversations that a person was erased from, once no delivery that was under way can mean them. */
export const sweepErasedContent = statement(
  'sweep_forgotten',
  `
with old as materialized (
  select c.id, c.tenant, c.connection from conversations c join lanes l on l.conversation_id = c.id
  where c.tenant = $2 and c.external_id like '~~forgotten %' and c.last_activity_at < now() - interval '1 hour'
    and l.pending = 0 and l.turn_id is null and l.lease_until is null
    and not exists (select 1 from participants p where p.conversation_id = c.id)
  limit $1 for update of l skip locked
),
lane as (delete from lanes l using old where l.conversation_id = old.id),
sends as (
  delete from send_lanes l using old
  where l.tenant = old.tenant and l.connection = old.connection and l.order_key = old.id::text and l.pending = 0
)
delete from conversations c using old where c.id = old.id returning 1 as swept`,
)
