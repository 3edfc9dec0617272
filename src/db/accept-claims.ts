// CTEs of the accept statement for inbound events whose proof counts once, and the statement that deletes expired proofs.
//
// proofs    what the drafts are proven by, hashed
// spent     (in `known`) a proof that another event used: its message is the one that this is a duplicate of
// outdone   drafts that meet an earlier one of this batch with the same proof: asked once more they are known
// claimed   the proofs that are this event's from now on, in a fixed order; a duplicate claims what it brings besides, so that
//           no part of what it was proven by counts later. Two replicas are told apart by the primary key.
import { nameStatement } from './client.ts'
import { claimColumns, recordsetColumnsSql } from './inbox-row.ts'

export const withClaims = {
  columns: `, ${recordsetColumnsSql(claimColumns)}`,
  proofs: `
proofs as materialized (
  select i.ord, i.tenant, coalesce(i."eventId", i.id) as "eventId", encode(sha256(convert_to(o.key, 'UTF8')), 'hex') as key, max(o."forMs") as "forMs"
  from inp i cross join lateral json_to_recordset(i.once) as o(key text, "forMs" float8)
  group by 1, 2, 3, 4
),`,
  spent: `
      union all
      (select c.inbox_id, (select x.trace_id = '' from inbox x where x.id = c.inbox_id), true
      from proofs p cross join lateral (
        select c.inbox_id from proof_claims c
        where c.tenant = p.tenant and c.key = p.key and c.event_id <> p."eventId" limit 1) c
      where p.ord = i.ord limit 1)
      limit 1`,
  outdone: `
outdone as materialized (
  select distinct p.ord from proofs p join proofs e on e.key = p.key and e.tenant = p.tenant
  where e.ord < p.ord and e."eventId" <> p."eventId"
),`,
  isFirst: ' and not exists (select 1 from outdone o where o.ord = i.ord)',
  /** Of what is not stored nothing is claimed: it may come again. */
  claimed: (isOpen: string): string => `
claimed as (
  insert into proof_claims (tenant, key, event_id, inbox_id, expires_at)
  select distinct on (p.tenant, p.key) p.tenant, p.key, p."eventId", coalesce(k.id, i.id), now() + p."forMs" * interval '1 ms'
  from proofs p join inp i on i.ord = p.ord left join known k on k.ord = p.ord
  where not exists (select 1 from busy b where b.ord = i.ord)${isOpen}
  order by p.tenant, p.key, p.ord
  on conflict (tenant, key) do update set inbox_id = excluded.inbox_id,
    expires_at = greatest(proof_claims.expires_at, excluded.expires_at)
  where proof_claims.event_id = excluded.event_id
  returning tenant, key, event_id
),`,
  isClaimed: `
    and not exists (select 1 from proofs p where p.ord = i.ord and not exists (
      select 1 from claimed c where c.tenant = p.tenant and c.key = p.key and c.event_id = p."eventId"))`,
} as const

export type ClaimParts = Readonly<Record<Exclude<keyof typeof withClaims, 'claimed'>, string>> & {
  readonly claimed: (isOpen: string) => string
}

export const withoutClaims: ClaimParts = {
  columns: '',
  proofs: '',
  spent: '',
  outdone: '',
  isFirst: '',
  claimed: () => '',
  isClaimed: '',
}

/** $1 batch, $2 tenant. What is older than a claim is refused for its age. */
export const deleteExpiredEventClaims = nameStatement(
  'expire_proof_claims',
  `
with old as (
  select ctid from proof_claims where tenant = $2 and expires_at < now() order by expires_at limit $1 for update skip locked)
delete from proof_claims c using old where c.ctid = old.ctid returning 1 as swept`,
)
