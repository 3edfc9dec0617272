// Grants on SQL.
import type { GrantLine, GrantStore } from '../identity/access/grant-store.ts'
import type { Database } from './database.ts'
import { type PeopleOptions, settleKnown } from './pairing-store.ts'
import { addGrant, getGrant, listGrants, revokeGrant } from './statements/grants.ts'

export function createGrantStore(database: Database, { tenant, newId }: PeopleOptions): GrantStore {
  return {
    list: ({ subject, isEverything, limit, before }) =>
      database.query<GrantLine>(listGrants, [tenant, subject, isEverything, limit, before]),
    async add({ subject, effect, role, connection, agent, workspaceId, createdBy, expiresInMs }) {
      const params = [subject, effect, role, connection, agent, workspaceId, createdBy, expiresInMs]
      const [grant] = await database.query<GrantLine>(addGrant, [tenant, newId(), ...params])
      if (grant === undefined) throw new RangeError('an insert returns its row')
      return { grant, messages: await settleKnown(database, tenant, subject) }
    },
    async revoke(id, by) {
      const [revoked] = await database.query<GrantLine>(revokeGrant, [tenant, id, by])
      if (revoked !== undefined) return { kind: 'revoked', grant: revoked }
      const [grant] = await database.query<GrantLine>(getGrant, [tenant, id])
      return grant === undefined ? { kind: 'unknown' } : { kind: 'late', grant }
    },
  }
}
