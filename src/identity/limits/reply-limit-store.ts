// The port of reply limits: whether a message may still be answered, so that two machines do not answer each other for ever. Rows,
// so that replicas count together.
import type { ReplyLimit } from '../../contract/index.ts'

/**
 * Whose answers are counted together. `own`: those of one sender. `strangers`: those of all senders whom no operator admitted and who
 * were never answered here before, so that people known before cannot be silenced by them.
 */
export type ReplyShare = 'own' | 'strangers'

/** What is counted. `per: 'notices'`: access challenges sent to strangers on the whole connection. */
export type CountedReply = Pick<ReplyLimit, 'count' | 'perMs'> & {
  readonly per: ReplyLimit['per'] | 'notices'
  readonly share: ReplyShare
  /** Names what is counted; it holds no name of a person. */
  readonly scope: string
  /** The group of strangers, for the operator; a domain, a workspace, never a person. */
  readonly group: string | null
}

export type ReplyAsk = {
  readonly connection: string
  readonly agent: string
  readonly conversationId: string
  /** By which it is counted: the same message asked about again, after a crash, is not counted twice. */
  readonly inboxId: string
  /** Whose it is: for the audit log, and to look up whether they were answered before. */
  readonly subject: string | null
  readonly traceId: string
  /** An operator admitted them: nothing is counted among strangers. */
  readonly isAdmitted: boolean
  readonly limits: readonly CountedReply[]
}

/**
 * A limit that is reached; `rule` is how people read it. `isNews`: for the first time in its window, and written into the audit log
 * just now. `freeInMs`: when the next answer is allowed.
 */
export type ReachedLimit = {
  readonly per: CountedReply['per']
  readonly rule: string
  readonly isNews: boolean
  readonly freeInMs: number
}

export interface ReplyLimitStore {
  /** One statement: counted under all of them, or, where one is reached, under none. Nothing back: it may be answered. */
  spend(asked: ReplyAsk): Promise<readonly ReachedLimit[]>
  /** It was counted, and nothing was said after all. */
  giveBack(spent: { readonly connection: string; readonly scope: string; readonly inboxId: string }): Promise<void>
}
