// A person who steps in, on SQL.
import type { SessionDeskStore, SessionPlace } from '../sessions/session-desk-store.ts'
import type { Database } from './database.ts'
import { findPlace, speakInSession } from './statements/session-desk.ts'
import { storableJson } from './storable-json.ts'

export function createSessionDeskStore(database: Database, tenant: string): SessionDeskStore {
  return {
    async place(sessionId) {
      return (await database.query<SessionPlace>(findPlace, [tenant, sessionId]))[0]
    },
    async speak(sessionId, spoken) {
      const params = [tenant, sessionId, storableJson(spoken), database.isShared]
      const [row] = await database.query<{ spoken: number }>(speakInSession, params)
      return (row?.spoken ?? 0) > 0
    },
  }
}
