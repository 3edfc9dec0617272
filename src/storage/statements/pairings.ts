// Pairings: shown, decided, expired. A decision locks the pairing alone, commits, and only then frees its messages
// (held-messages.ts): turns lock their lane first and a pairing second, so a transaction with both would deadlock with them.
// What a process leaves undone between the two commits the sweeper does.
import { statement } from '../database.ts'
import { auditedActs } from './audit-lines.ts'
import { isoTime } from './iso-time.ts'

/** One that has run out is over, also while the sweeper has not come round. */
const status = `case when p.status = 'pending' and p.expires_at <= now() then 'expired' else p.status end`

const line = `p.id, p.code, ${status} as status, p.connection, p.agent, p.subject, p.shown_name as "shownName", p.evidence,
  coalesce((select c.agent from conversations c where c.id = p.conversation_id), p.agent) as "wroteTo",
  (select count(*)::int from inbox h where h.pairing_id = p.id and h.state = 'held') as held,
  ${isoTime('p.created_at')} as "createdAt", ${isoTime('p.expires_at')} as "expiresAt",
  ${isoTime('p.decided_at')} as "decidedAt", p.decided_by as "decidedBy"`

/** $1 tenant, $2 status or null, $3 how many, $4 behind which id or null. */
export const listPairings = statement(
  'list_pairings',
  `
select ${line} from pairings p
where p.tenant = $1 and ($2::text is null or ${status} = $2)
  and ($4::uuid is null
    or (p.status = 'pending', p.id) < (select b.status = 'pending', b.id from pairings b where b.tenant = $1 and b.id = $4))
order by p.status = 'pending' desc, p.id desc limit $3`,
)

/** $1 tenant, $2 code. */
export const findPairing = statement(
  'find_pairing',
  `
select ${line} from pairings p where p.tenant = $1 and p.code = $2
order by p.status = 'pending' desc, p.id desc limit 1`,
)

/** Where one is let in: what the rule that held them asks for. */
const reach = `d.connection, coalesce(nullif(d.agent, '*'), $7)`

/**
 * $1 tenant, $2 code, $3 approved or rejected, $4 by whom, $5 subject of a person in a chat or null, $6 effect of a grant or
 * null, $7 the one agent or null, $8 id for the grant.
 */
export const decidePairing = statement(
  'decide_pairing',
  `
with closed as (
  update pairings p set status = $3, decided_at = now(), decided_by = $4
  where p.tenant = $1 and p.code = $2 and p.status = 'pending' and p.expires_at > now()
  returning p.*
),
granted as (
  insert into grants (tenant, id, subject, effect, connection, agent, source, created_by)
  select d.tenant, $8::uuid, d.subject, $6, ${reach}, 'pairing', $4 from closed d where $6::text is not null
),
acted as (
  select d.tenant, case when $3 = 'approved' then 'pairing.approve' else 'pairing.reject' end as action, $3 as outcome,
    case when $6::text is not null then 'grant ' || $8::text end as rule, coalesce($5, d.subject) as subject,
    case when $5::text is null then $4 else 'chat' end as actor, d.evidence, d.connection, nullif(d.agent, '*') as agent,
    d.conversation_id, d.id::text as object_id
  from closed d
),${auditedActs}
select ${line} from closed p`,
)

/** $1 how many, $2 tenant. */
export const expirePairings = statement(
  'expire_pairings',
  `
with lapsed as materialized (
  select p.tenant, p.id from pairings p where p.tenant = $2 and p.status = 'pending' and p.expires_at <= now()
  order by p.expires_at limit $1 for update skip locked
),
closed as (
  update pairings p set status = 'expired', decided_at = now(), decided_by = 'gateway' from lapsed l
  where p.tenant = l.tenant and p.id = l.id returning p.*
),
acted as (
  select d.tenant, 'pairing.expire' as action, 'expired' as outcome, null as rule, d.subject, 'gateway' as actor, d.evidence,
    d.connection, nullif(d.agent, '*') as agent, d.conversation_id, d.id::text as object_id
  from closed d
),${auditedActs}
select p.id from closed p`,
)

/** The subject itself, or the person an operator said it is. */
const isAbout = `(g.subject = p.subject or g.subject = (
        select l.principal from identity_links l where l.tenant = p.tenant and l.subject = p.subject))`

/** A denial closes what it covers whole; what allows one agent admits those who wrote to that agent. */
const isHere = `(g.connection is null or g.connection = p.connection) and (g.agent is null or g.agent = p.agent
        or g.effect = 'allow' and p.agent = '*' and g.agent = (select c.agent from conversations c where c.id = p.conversation_id))
      and (g.workspace_id is null
        or g.workspace_id = (select c.workspace_id from conversations c where c.id = p.conversation_id))`

/**
 * $1 tenant, $2 a subject or a person or null, $3 how many. Pairings of people about whom a grant says by now what
 * the pairing asks. The messages are decided about anew all the same.
 */
export const decideKnownPairings = statement(
  'decide_known_pairings',
  `
with known as materialized (
  select p.tenant, p.id, g.id as grant_id, g.effect, g.created_by
  from pairings p cross join lateral (
    select g.id, g.effect, g.created_by from grants g
    where g.tenant = p.tenant and g.revoked_at is null and (g.expires_at is null or g.expires_at > now())
      and ${isAbout} and ${isHere} and (g.effect = 'deny' or g.role is distinct from 'viewer')
    order by g.effect desc limit 1) g
  where p.status = 'pending' and p.expires_at > now() and p.tenant = $1
    and ($2::text is null or p.subject = $2
      or p.subject in (select l.subject from identity_links l where l.tenant = p.tenant and l.principal = $2))
  order by p.id limit $3 for update of p
),
closed as (
  update pairings p set status = case when k.effect = 'allow' then 'approved' else 'rejected' end, decided_at = now(),
    decided_by = k.created_by
  from known k where p.tenant = k.tenant and p.id = k.id returning p.*, k.grant_id
),
acted as (
  select d.tenant, case when d.status = 'approved' then 'pairing.approve' else 'pairing.reject' end as action,
    d.status as outcome, 'grant ' || d.grant_id as rule, d.subject, 'gateway' as actor, d.evidence, d.connection,
    nullif(d.agent, '*') as agent, d.conversation_id, d.id::text as object_id
  from closed d
),${auditedActs}
select p.id from closed p`,
)
