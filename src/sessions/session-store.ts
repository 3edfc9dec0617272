// The port of sessions as their owners and operators see them. Sessions begin and grow with turns alone; here they
// are listed, read, named and deleted.
import type { Envelope, JsonObject, WorkspaceScope } from '../contract/index.ts'

/** Whose sessions are meant; what lies outside does not exist for the one who asks. An operator's scope is empty. */
export type SessionScope = {
  readonly owner?: string | undefined
  readonly workspace?: WorkspaceScope | undefined
}

export type SessionLine = {
  readonly id: string
  readonly connection: string
  readonly agent: string
  /** The subject whose message began it; null: the sender could not be authenticated, so only operators see it. */
  readonly owner: string | null
  readonly status: 'open' | 'closed'
  readonly title: string | null
  readonly metadata: JsonObject
  readonly provider: string | null
  readonly model: string | null
  readonly workspaceType: string
  readonly workspaceId: string
  /** How many lines its transcript has. */
  readonly lines: number
  readonly createdAt: string
  readonly lastActivityAt: string
  readonly endedAt: string | null
  readonly expiresAt: string | null
}

export type TranscriptLine = { readonly seq: number; readonly envelope: Envelope }

export type SessionFilter = {
  readonly limit: number
  /** The id of the last session of the page before this one. */
  readonly before: string | null
  readonly agent: string | null
}

export interface SessionStore {
  /** Newest first, without their transcripts. */
  list(scope: SessionScope, filter: SessionFilter): Promise<readonly SessionLine[]>
  find(scope: SessionScope, id: string): Promise<SessionLine | undefined>
  /** The last `limit` lines before `before`, oldest first. Asked after `find`: it knows no scope. */
  transcript(id: string, limit: number, before: number | null): Promise<readonly TranscriptLine[]>
  rename(scope: SessionScope, id: string, title: string): Promise<boolean>
  /**
   * Erases what was said and done in it; rows and their numbers stay. Doing it again changes nothing and is a
   * success. `by` goes into the audit log. `busy`: a turn runs in it right now.
   */
  delete(scope: SessionScope, id: string, by: string): Promise<'deleted' | 'none' | 'busy'>
}
