// A person who steps in, on SQL.
import type { SessionReader, SessionRoom } from '../sessions/session-desk-store.ts'
import type { Database } from './database.ts'
import { findSessionRoom, speakInSession } from './statements/session-desk.ts'
import { storableJson } from './storable-json.ts'

export function createSessionReader(database: Database, tenant: string): SessionReader {
  return {
    async place(sessionId) {
      return (await database.query<SessionRoom>(findSessionRoom, [tenant, sessionId]))[0]
    },
    async speak(sessionId, spoken) {
      const params = [tenant, sessionId, storableJson(spoken), database.isShared]
      const [row] = await database.query<{ spoken: number }>(speakInSession, params)
      return (row?.spoken ?? 0) > 0
    },
  }
}
