// The people a connection has ever dealt with, for channels that are told about every account of their platform.
import type { KnownPeople } from '../contract/channel.ts'
import { knowsSubject } from './account-deletions.ts'
import { type Database, nameStatement } from './client.ts'

export function createKnownSenderLookup(
  database: Database,
  { tenant, connection }: { readonly tenant: string; readonly connection: string },
): KnownPeople {
  return {
    async knows(subject) {
      const [row] = await database.query<{ isKnown: boolean }>(knowsSubject, [tenant, connection, subject])
      return row?.isKnown === true
    },
    isAdmitted: (subject) => isAdmittedPerson(database, tenant, connection, subject),
  }
}

/** An operator admitted them on the connection, or they were answered there before. */
export async function isAdmittedPerson(
  database: Database,
  tenant: string,
  connection: string,
  subject: string,
): Promise<boolean> {
  const [row] = await database.query<{ isKnown: boolean }>(isKnownPerson, [tenant, connection, subject])
  return row?.isKnown === true
}

// Known are people whom an operator admitted, and people who were answered there before: the limits of strangers never apply to
// them.

/** SQL: whether a message of the subject was answered. By the index that holds nothing else. */
export const wasAnsweredSql = (tenant: string, connection: string, subject: string): string => `exists (
    select 1 from inbox a
    where a.tenant = ${tenant} and a.connection = ${connection} and a.subject = ${subject} and a.state = 'answered')`

/** SQL: whether a grant or a pairing lets the subject in, by itself or as the person it is linked to. */
const isSenderGrantedOrPairedSql = (tenant: string, connection: string, subject: string): string => `exists (
    select 1 from grants g
    where g.tenant = ${tenant} and g.revoked_at is null and g.effect = 'allow' and (g.expires_at is null or g.expires_at > now())
      and (g.connection is null or g.connection = ${connection})
      and g.subject in (${subject}, (
        select l.principal from identity_links l where l.tenant = ${tenant} and l.subject = ${subject} limit 1)))`

/** $1 tenant, $2 connection, $3 subject. */
const isKnownPerson = nameStatement(
  'is_known_person',
  `select ${isSenderGrantedOrPairedSql('$1', '$2', '$3')} or ${wasAnsweredSql('$1', '$2', '$3')} as "isKnown"`,
)
