// Sessions on SQL, as their owners and operators see them.
import type { SessionLine, SessionScope, SessionStore, TranscriptLine } from '../sessions/session-store.ts'
import type { Database, Param } from './database.ts'
import { deleteSession, findSession, listSessions, readTranscript, renameSession } from './statements/sessions.ts'

export function createSessionStore(database: Database, tenant: string): SessionStore {
  const sessionScopeParams = ({ owner, workspace }: SessionScope): readonly Param[] => [
    tenant,
    owner ?? null,
    workspace?.workspace_type ?? null,
    workspace?.workspace_id ?? null,
  ]
  return {
    list: (scope, { limit, before, agent }) =>
      database.query<SessionLine>(listSessions, [...sessionScopeParams(scope), limit, before, agent]),
    async find(scope, id) {
      return (await database.query<SessionLine>(findSession, [...sessionScopeParams(scope), id]))[0]
    },
    transcript: (id, limit, before) => database.query<TranscriptLine>(readTranscript, [id, limit, before, tenant]),
    async rename(scope, id, title) {
      return (await database.query(renameSession, [...sessionScopeParams(scope), id, title])).length > 0
    },
    async delete(scope, id, by) {
      const [row] = await database.query<{ found: number; gone: number }>(deleteSession, [
        ...sessionScopeParams(scope),
        id,
        by,
      ])
      if ((row?.gone ?? 0) > 0) return 'deleted'
      return (row?.found ?? 0) > 0 ? 'busy' : 'none'
    },
  }
}
