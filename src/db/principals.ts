// People: every person a decision was made about, what is stored about them, and which subjects are linked.

import { insertMissingPrincipalsSql, principalIdSql } from './audit.ts'
import { type Db, isoTimeSql, nameStatement } from './client.ts'
import { settlePairingsOfPerson } from './pairings.ts'

export type PrincipalLine = {
  readonly id: string
  readonly subject: string
  readonly createdAt: string
  readonly lastDecision: {
    readonly at: string
    readonly action: string
    readonly outcome: string
    readonly code: string | null
    readonly rule: string | null
    readonly connection: string | null
  } | null
  /** Those that count now. */
  readonly grants: readonly {
    readonly id: string
    readonly effect: 'allow' | 'deny'
    readonly role: string | null
    readonly connection: string | null
    readonly agent: string | null
  }[]
  /** Whom they act as; null: themselves. */
  readonly linkedTo: string | null
  /** Subjects that act as them. */
  readonly linkedFrom: readonly string[]
}

export type LinkLine = {
  readonly subject: string
  readonly principal: string
  readonly createdBy: string
  readonly createdAt: string
}

export type LinkOutcome =
  /** `messages`: how many of theirs that were held go on with it. */
  | { readonly kind: 'linked'; readonly link: LinkLine; readonly messages: number }
  | { readonly kind: 'linked_already'; readonly link: LinkLine }
  /** One person has one main subject: a link to or from a linked one would make a chain. */
  | { readonly kind: 'chain' }

/** Newest first. */
export function listPrincipals(
  db: Db,
  { limit, before }: { readonly limit: number; readonly before: string | null },
): Promise<readonly PrincipalLine[]> {
  return db.query<PrincipalLine>(listPrincipalsSql, [db.tenant, limit, before])
}

export function listIdentityLinks(db: Db): Promise<readonly LinkLine[]> {
  return db.query<LinkLine>(listLinks, [db.tenant])
}

/** A sender verified as `subject` is `principal` from the next decision on. */
export async function linkIdentity(db: Db, subject: string, principal: string, by: string): Promise<LinkOutcome> {
  const [made] = await db.query<LinkLine>(addLink, [db.tenant, subject, principal, by])
  if (made !== undefined)
    return { kind: 'linked', link: made, messages: await settlePairingsOfPerson(db, db.tenant, subject) }
  const [known] = await db.query<LinkLine>(getLink, [db.tenant, subject])
  return known === undefined ? { kind: 'chain' } : { kind: 'linked_already', link: known }
}

/** False: there was no such link. */
export async function unlinkIdentity(db: Db, subject: string, by: string): Promise<boolean> {
  return (await db.query(removeLink, [db.tenant, subject, by])).length > 0
}

// A link is one step: a principal that acts as another one cannot be acted as.

/** $1 tenant, $2 how many, $3 before which moment and id: the id of the last line, or null. */
const listPrincipalsSql = nameStatement(
  'list_principals',
  `
select p.id, p.subject, ${isoTimeSql('p.created_at')} as "createdAt",
  (select json_build_object('at', ${isoTimeSql('a.at')}, 'action', a.action, 'outcome', a.outcome, 'code', a.code, 'rule', a.rule,
      'connection', a.connection)
    from audit_log a where a.tenant = p.tenant and a.principal_id = p.id order by a.seq desc limit 1) as "lastDecision",
  coalesce((select json_agg(json_build_object('id', g.id, 'effect', g.effect, 'role', g.role, 'connection', g.connection,
      'agent', g.agent) order by g.id)
    from grants g where g.tenant = p.tenant and g.subject = p.subject and g.revoked_at is null
      and (g.expires_at is null or g.expires_at > now())), '[]') as grants,
  (select l.principal from identity_links l where l.tenant = p.tenant and l.subject = p.subject) as "linkedTo",
  coalesce((select json_agg(l.subject order by l.subject) from identity_links l
    where l.tenant = p.tenant and l.principal = p.subject), '[]') as "linkedFrom"
from principals p
where p.tenant = $1 and ($3::uuid is null
  or (p.created_at, p.id) < (select b.created_at, b.id from principals b where b.tenant = $1 and b.id = $3))
order by p.created_at desc, p.id desc limit $2`,
)

const line = `l.subject, l.principal, l.created_by as "createdBy", ${isoTimeSql('l.created_at')} as "createdAt"`

/** $1 tenant. */
const listLinks = nameStatement(
  'list_links',
  `select ${line} from identity_links l where l.tenant = $1 order by l.principal, l.subject limit 1000`,
)

/** $1 tenant, $2 subject. */
const getLink = nameStatement('get_link', `select ${line} from identity_links l where l.tenant = $1 and l.subject = $2`)

/** Both are in the log by the ids of their rows: who was meant is told by the second one. */
const auditIdentityLinkSql = (
  action: string,
  actor: string,
): string => `${insertMissingPrincipalsSql(`select tenant, subject from written union all select tenant, principal from written`)},
audited as (
  insert into audit_log (tenant, action, outcome, principal_id, actor, object_id)
  select w.tenant, '${action}', 'done', ${principalIdSql('w.tenant', 'w.subject')}, ${actor},
    ${principalIdSql('w.tenant', 'w.principal')}::text
  from written w
)`

/** $1 tenant, $2 subject, $3 principal, $4 by whom. Nothing is written where it would make a chain. */
const addLink = nameStatement(
  'add_link',
  `
with written as (
  insert into identity_links (tenant, subject, principal, created_by)
  select $1, $2, $3, $4
  where not exists (select 1 from identity_links l where l.tenant = $1 and (l.subject = $3 or l.principal = $2))
  on conflict do nothing
  returning *
),${auditIdentityLinkSql('principal.link', 'w.created_by')}
select ${line} from written l`,
)

/** $1 tenant, $2 subject, $3 by whom. */
const removeLink = nameStatement(
  'remove_link',
  `
with written as (
  delete from identity_links l where l.tenant = $1 and l.subject = $2 returning *
),${auditIdentityLinkSql('principal.unlink', '$3')}
select 1 as removed from written`,
)
