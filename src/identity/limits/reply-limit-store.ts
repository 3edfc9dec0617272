// The port of reply limits: whether a message may still be answered, so that two machines do not answer each other for ever. Rows,
// so that replicas count together.
import type { ReplyLimit } from '../../contract/index.ts'

/** `scope` names what is counted; it holds no name of a person. */
export type CountedReply = ReplyLimit & { readonly scope: string }

export type ReplyAsk = {
  readonly connection: string
  readonly agent: string
  readonly conversationId: string
  /** By which it is counted: the same message asked about again, after a crash, is not counted twice. */
  readonly inboxId: string
  /** Whose it is, for the audit log. */
  readonly subject: string | null
  readonly traceId: string
  readonly limits: readonly CountedReply[]
}

/** A limit that is reached. `isNews`: for the first time in its window, and written into the audit log just now. */
export type ReachedLimit = { readonly per: ReplyLimit['per']; readonly isNews: boolean }

export interface ReplyLimitStore {
  /** One statement: counted under all of them, or, where one is reached, under none. Nothing back: it may be answered. */
  spend(asked: ReplyAsk): Promise<readonly ReachedLimit[]>
}
