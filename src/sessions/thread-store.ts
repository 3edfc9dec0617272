// The port of a thread as its own sender reads it again: all that was said in it, whatever sessions that fell into.
import type { Envelope } from '../contract/index.ts'

export type ThreadQuery = {
  readonly connection: string
  readonly agents: readonly string[]
  /** What the sender proved. Their name for a thread leads to their own conversation alone. */
  readonly subject: string
  readonly threadId: string
  /** The id of a message of the thread: what was said before it. */
  readonly before: string | null
  readonly limit: number
}

export type ThreadLine = {
  readonly sessionId: string
  readonly seq: number
  readonly envelope: Envelope
  /** Lines about tools of the turn that ends with this reply; null: none. */
  readonly tools: readonly Envelope[] | null
  /** What its turn asked for; null: nothing. */
  readonly waits: readonly ThreadWait[] | null
}

/** A question of a reply, as it stands now. `id` is the action's, or the request's where a client runs a tool. */
export type ThreadWait = {
  readonly id: string
  readonly state: 'pending' | 'approved' | 'rejected' | 'expired' | 'withdrawn' | 'completed'
  readonly decidedBy: string | null
  readonly decidedAt: string | null
}

export interface ThreadStore {
  /** The last `limit` lines, oldest first, without what was deleted. Undefined: there is no such thread of theirs. */
  read(query: ThreadQuery): Promise<readonly ThreadLine[] | undefined>
}
