// Grants: what operators allowed or denied single people. Read with every message, so a change counts from the next decision on,
// in every replica.

import { auditedActs } from './audit.ts'
import { type Db, isoTimeSql, nameStatement } from './client.ts'
import { settlePairingsOfPerson } from './pairings.ts'

/** Weakest first. */
export const grantRoles = ['viewer', 'operator', 'admin'] as const
export type GrantRole = (typeof grantRoles)[number]

export type GrantLine = {
  readonly id: string
  readonly subject: string
  readonly effect: 'allow' | 'deny'
  /** Null: they may speak. */
  readonly role: GrantRole | null
  /** Null: everywhere. */
  readonly connection: string | null
  readonly agent: string | null
  readonly workspaceId: string | null
  /** `operator`, or `pairing`. */
  readonly source: string
  readonly state: 'active' | 'expired' | 'revoked'
  readonly createdBy: string
  readonly createdAt: string
  readonly expiresAt: string | null
  readonly revokedBy: string | null
  readonly revokedAt: string | null
}

export type NewGrant = Pick<
  GrantLine,
  'subject' | 'effect' | 'role' | 'connection' | 'agent' | 'workspaceId' | 'createdBy'
> & { readonly expiresInMs: number | null }

export type GrantFilter = {
  readonly subject: string | null
  /** Without it: those that count now. */
  readonly isEverything: boolean
  readonly limit: number
  readonly before: string | null
}

export type Revocation =
  | { readonly kind: 'revoked'; readonly grant: GrantLine }
  | { readonly kind: 'late'; readonly grant: GrantLine }
  | { readonly kind: 'unknown' }

/** Newest first. */
export function listGrants(
  db: Db,
  { subject, isEverything, limit, before }: GrantFilter,
): Promise<readonly GrantLine[]> {
  return db.query<GrantLine>(listGrantsSql, [db.tenant, subject, isEverything, limit, before])
}

/** Decides open pairings of the same person too. `messages`: how many of theirs go on, or end, with it. */
export async function addGrant(
  db: Db,
  { subject, effect, role, connection, agent, workspaceId, createdBy, expiresInMs }: NewGrant,
): Promise<{ readonly grant: GrantLine; readonly messages: number }> {
  const params = [subject, effect, role, connection, agent, workspaceId, createdBy, expiresInMs]
  const [grant] = await db.query<GrantLine>(addGrantSql, [db.tenant, db.newId(), ...params])
  if (grant === undefined) throw new RangeError('an insert returns its row')
  return { grant, messages: await settlePairingsOfPerson(db, db.tenant, subject) }
}

export async function revokeGrant(db: Db, id: string, by: string): Promise<Revocation> {
  const [revoked] = await db.query<GrantLine>(revokeGrantSql, [db.tenant, id, by])
  if (revoked !== undefined) return { kind: 'revoked', grant: revoked }
  const [grant] = await db.query<GrantLine>(getGrant, [db.tenant, id])
  return grant === undefined ? { kind: 'unknown' } : { kind: 'late', grant }
}

const state = `case when g.revoked_at is not null then 'revoked'
  when g.expires_at is not null and g.expires_at <= now() then 'expired' else 'active' end`

const line = `g.id, g.subject, g.effect, g.role, g.connection, g.agent, g.workspace_id as "workspaceId", g.source,
  ${state} as state, g.created_by as "createdBy", ${isoTimeSql('g.created_at')} as "createdAt",
  ${isoTimeSql('g.expires_at')} as "expiresAt", g.revoked_by as "revokedBy", ${isoTimeSql('g.revoked_at')} as "revokedAt"`

/** $1 tenant, $2 subject or null, $3 whether those that are over too, $4 how many, $5 before which id or null. */
const listGrantsSql = nameStatement(
  'list_grants',
  `
select ${line} from grants g
where g.tenant = $1 and ($2::text is null or g.subject = $2) and ($3::boolean or ${state} = 'active')
  and ($5::uuid is null or g.id < $5)
order by g.id desc limit $4`,
)

/** $1 tenant, $2 id. */
const getGrant = nameStatement('get_grant', `select ${line} from grants g where g.tenant = $1 and g.id = $2`)

const auditGrantChangeSql = (action: string, actor: string): string => `
acted as (
  select d.tenant, '${action}' as action, d.effect || coalesce(' ' || d.role, '') as outcome, null as rule, d.subject,
    ${actor} as actor, null::jsonb as evidence, d.connection, d.agent, null::uuid as conversation_id, d.id::text as object_id
  from written d
),${auditedActs}`

/** $1 tenant, $2 id, $3 subject, $4 effect, $5 role, $6 connection, $7 agent, $8 workspace, $9 by whom, $10 life in ms. */
const addGrantSql = nameStatement(
  'add_grant',
  `
with written as (
  insert into grants (tenant, id, subject, effect, role, connection, agent, workspace_id, source, created_by, expires_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, 'operator', $9, now() + $10::float8 * interval '1 ms')
  returning *
),${auditGrantChangeSql('grant.add', 'd.created_by')}
select ${line} from written g`,
)

/** $1 tenant, $2 id, $3 by whom. */
const revokeGrantSql = nameStatement(
  'revoke_grant',
  `
with written as (
  update grants g set revoked_at = now(), revoked_by = $3 where g.tenant = $1 and g.id = $2 and g.revoked_at is null
  returning g.*
),${auditGrantChangeSql('grant.revoke', 'd.revoked_by')}
select ${line} from written g`,
)
