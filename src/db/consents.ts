// Consent: what people answered in a chat, and the decisions that are stored beside the act they were made for.
import {
  type ConsentContext,
  type ConsentDecision,
  type ConsentOperation,
  consentOperations,
} from '../identity/consent.ts'
import { type Db, nameStatement, storableJson } from './client.ts'

/** What a person said. The same id again changes nothing. */
export type ConsentWord = {
  readonly id: string
  readonly operation: ConsentOperation
  readonly isAllowed: boolean
  readonly principal: string
  readonly connection: string
  readonly agent: string
}

/** What was to be done in a session, by whom, and whether it could. */
export type DecidedAct = {
  readonly id: string
  readonly sessionId: string
  readonly decision: ConsentDecision
  readonly action: string
  readonly actor: string
}

/** What a person said last, operation by operation. */
export async function readConsentByOperation(db: Db, principal: string): Promise<ConsentContext['consent']> {
  const rows = await db.query<{ operation: string; isAllowed: boolean }>(givenConsents, [db.tenant, principal])
  return Object.fromEntries(
    rows.filter((row) => isConsentOperation(row.operation)).map(({ operation, isAllowed }) => [operation, isAllowed]),
  )
}

/** When a person withdraws consent to keep transcripts, those kept on this legal basis are erased. */
export async function recordConsentGivenOrWithdrawn(
  db: Db,
  { id, operation, isAllowed, principal, connection, agent }: ConsentWord,
): Promise<void> {
  await db.query(recordWord, [db.tenant, id, operation, isAllowed, principal, connection, agent])
}

/** Whether all participants of a session have agreed; false without participants. */
export async function haveAllParticipantsConsented(
  db: Db,
  sessionId: string,
  operation: ConsentOperation,
): Promise<boolean> {
  const params = [db.tenant, sessionId, operation]
  const [row] = await db.query<{ people: number; agreed: number }>(agreedIn, params)
  return row !== undefined && row.people > 0 && row.agreed === row.people
}

export async function recordConsentDecision(
  db: Db,
  { id, sessionId, decision, action, actor }: DecidedAct,
): Promise<void> {
  const { operation, allowed, reason, audit_metadata } = decision
  const audit = storableJson(audit_metadata)
  await db.query(recordDecision, [db.tenant, id, sessionId, operation, allowed, reason, audit, action, actor])
}

function isConsentOperation(operation: string): operation is ConsentOperation {
  return consentOperations.some((known) => known === operation)
}

// What people said has a subject and no session; a decision beside an act has a session and no subject.

/** $1 tenant, $2 subject. */
const givenConsents = nameStatement(
  'list_given_consents',
  `
select distinct on (operation) operation, is_allowed as "isAllowed" from consents where tenant = $1 and subject = $2
order by operation, created_at desc, id desc`,
)

/** $1 tenant, $2 id, $3 operation, $4 whether allowed, $5 subject, $6 connection, $7 agent. */
const recordWord = nameStatement(
  'record_consent_word',
  `
with met as (
  insert into principals (tenant, id, subject) values ($1, gen_random_uuid(), $5)
  on conflict (tenant, subject) do update set subject = excluded.subject returning id
),
said as (
  insert into consents (tenant, id, operation, is_allowed, reason, subject, connection, agent, audit)
  values ($1, $2, $3, $4, case when $4::boolean then 'explicit_consent' else 'consent_withdrawn' end, $5, $6, $7, '{}')
  on conflict (tenant, id) do nothing
  returning operation, is_allowed
),
-- The sweeper ends them, once nothing is in flight there.
unkept as (
  update sessions s set is_retained = false, expires_at = now()
  from said, consents k
  where not said.is_allowed and said.operation = 'store_transcript' and s.tenant = $1 and s.is_retained
    and s.owner = any(array(
      select $5::text union all select l.subject from identity_links l where l.tenant = $1 and l.principal = $5))
    and k.tenant = $1 and k.id = s.consent_id and k.reason = 'explicit_consent'
),
unremembered as (
  delete from ambient_context o using said
  where not said.is_allowed and said.operation in ('store_transcript', 'store_memory') and o.tenant = $1 and o.principal = $5
),
audited as (
  insert into audit_log (tenant, action, outcome, rule, principal_id, connection, agent)
  select $1, 'consent', case when said.is_allowed then 'given' else 'withdrawn' end, said.operation, met.id, $6, $7
  from said, met
)
select count(*)::int as said from said`,
)

/**
 * $1 tenant, $2 session, $3 operation. Asked are its owner and the people who were answered in it: a stranger who only
 * wrote into the room and was turned away has no say. A person under several subjects is asked once.
 */
const agreedIn = nameStatement(
  'find_agreement',
  `
with people as materialized (
  select distinct coalesce((
      select l.principal from identity_links l where l.tenant = $1 and l.subject = p.subject limit 1), p.subject) as name
  from sessions s cross join lateral (
    select s.owner as subject union select t.principal from turns t
    where t.conversation_id = s.conversation_id and t.session_id = s.id and t.kind <> 'access_challenge') p
  where s.tenant = $1 and s.id = $2 and p.subject is not null
)
select count(*)::int as people, (count(*) filter (where (
    select c.is_allowed from consents c where c.tenant = $1 and c.subject = people.name and c.operation = $3
    order by c.created_at desc, c.id desc limit 1)))::int as agreed
from people`,
)

/** $1 tenant, $2 id, $3 session, $4 operation, $5 whether allowed, $6 reason, $7 audit as JSON, $8 action, $9 actor. */
const recordDecision = nameStatement(
  'record_consent_decision',
  `
with place as materialized (
  select s.id, s.connection, s.agent, s.conversation_id from sessions s where s.tenant = $1 and s.id = $3
),
decided as (
  insert into consents (tenant, id, operation, is_allowed, reason, session_id, connection, agent, audit)
  select $1, $2, $4, $5, $6, p.id, p.connection, p.agent, $7::text::jsonb from place p
  on conflict (tenant, id) do nothing
)
insert into audit_log (tenant, action, outcome, code, rule, actor, connection, agent, conversation_id, object_id)
select $1, $8, case when $5::boolean then 'allowed' else 'refused' end,
  case when not $5::boolean then 'consent_missing' end, $4 || ' ' || $6, $9, p.connection, p.agent, p.conversation_id, p.id::text
from place p`,
)
