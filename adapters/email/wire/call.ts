// One mail on its way out, as data: every try makes the same mail of it, but for Date, boundaries and signature.
import type { JsonObject } from '../../../src/contract/index.ts'

/** Name for people, address as `local@domain`. */
export type MailPerson = { readonly name: string; readonly address: string }

/** A stored file; with `cid` it is a picture that stands in the words. */
export type MailFileCall = {
  readonly id: string
  readonly name: string
  readonly mime: string
  readonly cid?: string
}

/** A question that can be answered by a link. */
export type MailDecision = {
  readonly action_id: string
  readonly code: string
  readonly summary: string
  /** Null: it waits for ever. */
  readonly expires_at: string | null
}

export type MailCall = JsonObject & {
  readonly op: 'send'
  /** The agent: name and address. */
  readonly from: MailPerson
  readonly to: readonly MailPerson[]
  readonly cc: readonly MailPerson[]
  readonly subject: string
  /** What the agent says, in both forms. */
  readonly text: string
  readonly html: string
  /** What it answers, in both forms; null where nothing is quoted. */
  readonly quote: { readonly text: string; readonly html: string } | null
  /** Ids without brackets. */
  readonly in_reply_to: string | null
  readonly references: readonly string[]
  /** Name of the thread, from which the reply token is made when it is sent. */
  readonly thread: string
  readonly files: readonly MailFileCall[]
  readonly decisions: readonly MailDecision[]
  /** Where the answer to a decision goes: set where there are decisions. */
  readonly decided: {
    readonly agent: string
    readonly thread_id: string
    readonly reply_to: JsonObject
  } | null
  /** How often agents have answered each other to get here. */
  readonly hop: number
}
