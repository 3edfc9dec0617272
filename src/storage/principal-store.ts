// People and their links on SQL.
import type { LinkLine, PrincipalLine, PrincipalStore } from '../identity/principal/principal-store.ts'
import type { Database } from './database.ts'
import { settleKnown } from './pairing-store.ts'
import { addLink, getLink, listLinks, listPrincipals, removeLink } from './statements/principals.ts'

export function createPrincipalStore(database: Database, tenant: string): PrincipalStore {
  return {
    list: ({ limit, before }) => database.query<PrincipalLine>(listPrincipals, [tenant, limit, before]),
    links: () => database.query<LinkLine>(listLinks, [tenant]),
    async link(subject, principal, by) {
      const [made] = await database.query<LinkLine>(addLink, [tenant, subject, principal, by])
      if (made !== undefined)
        return { kind: 'linked', link: made, messages: await settleKnown(database, tenant, subject) }
      const [known] = await database.query<LinkLine>(getLink, [tenant, subject])
      return known === undefined ? { kind: 'chain' } : { kind: 'linked_already', link: known }
    },
    async unlink(subject, by) {
      return (await database.query(removeLink, [tenant, subject, by])).length > 0
    },
  }
}
