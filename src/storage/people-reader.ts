// The people a connection has ever dealt with, for channels that are told about every account of their platform.
import type { KnownPeople } from '../contract/index.ts'
import type { Database } from './database.ts'
import { knowsSubject } from './statements/farewells.ts'
import { isKnownPerson } from './statements/known-people.ts'

export function createPeople(
  database: Database,
  { tenant, connection }: { readonly tenant: string; readonly connection: string },
): KnownPeople {
  return {
    async knows(subject) {
      const [row] = await database.query<{ isKnown: boolean }>(knowsSubject, [tenant, connection, subject])
      return row?.isKnown === true
    },
    async isAdmitted(subject) {
      const [row] = await database.query<{ isKnown: boolean }>(isKnownPerson, [tenant, connection, subject])
      return row?.isKnown === true
    },
  }
}
