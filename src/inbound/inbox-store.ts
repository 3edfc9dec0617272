// The port of hop 4: claims messages once, stores them and queues them, all in one commit.
import type { Bounce, JsonObject, OnceClaim, ProtocolReply, RecordWrite, Task } from '../contract/index.ts'

/** One inbound event on its way into the inbox. Only `queued` rows enter a lane. */
export type InboxDraft = {
  readonly id: string
  readonly tenant: string
  readonly connection: string
  readonly agent: string
  readonly kind: string
  /** `refused`: nothing proves who sent it, and no caller waits to be told. */
  readonly state: 'queued' | 'ignored' | 'dead' | 'refused'
  readonly reason: string | null
  /** Everything that makes the message this message; stored as a hash. */
  readonly dedupe: string
  /** Everything the message says; the same id saying something else is another message. */
  readonly content: string
  readonly recipient: string | null
  readonly subject: string | null
  readonly obligation: string | null
  readonly messageId: string | null
  readonly deliveryId: string | null
  readonly event: 'new' | 'edit' | 'delete'
  readonly editOf: string | null
  readonly message: JsonObject | null
  readonly raw: JsonObject | null
  readonly replyTo: JsonObject | null
  readonly bytes: number
  readonly platformAt: string | null
  readonly horizonMs: number
  readonly traceId: string
  readonly candidates: readonly string[]
  readonly isVouched: boolean
  readonly fresh: string
  readonly replyToken: string | null
  readonly isExclusive: boolean
  /** A command for the gateway, in the conversation beside its conversation. */
  readonly isControl: boolean
  /** How long its conversation waits for what belongs to it. */
  readonly settleMs: number
  /** Null where one agent alone answers. */
  readonly routing: DraftRouting | null
  /** Deliveries of the same message that wait beside it and share its outcome. */
  readonly copies: number
  /** Id for the conversation, should this message open one. */
  readonly conversationId: string
  readonly task: DraftTask | null
  /** Names under which its conversation is found from now on, too. */
  readonly also: readonly string[]
  /** Ids of what was kept of it before it was stored, to be kept as long as it is. */
  readonly originals: readonly string[]
  /** Of what we sent: that it came back. */
  readonly bounce: Bounce | null
  /** What it changes in the channel's records. */
  readonly effects: readonly RecordWrite[]
  /** What its protocol answers, each with the id of its delivery. */
  readonly sends: readonly (ProtocolReply & { readonly id: string })[]
  /** Deliveries whose order key begins so are not to leave any more. */
  readonly cancels: string | null
  /** Its sender has left: what they said until now is to be erased. */
  readonly isFarewell: boolean
  /** Proofs that count once, claimed with it. */
  readonly once: readonly OnceClaim[]
  /** The event that claims them: what came together shares its proofs. */
  readonly arrivalId: string
}

/** A task the message asks for, or with `known` goes on with; a new one gets the id of the message. */
export type DraftTask = {
  readonly known: string | null
  readonly contextId: string
  readonly dialect: string
  readonly metadata: JsonObject
}

/** Which of several agents takes a message: that of the message an edit is about, that of its thread, else the draft's own. */
export type DraftRouting = {
  /** Under which it is kept whom the sender talks with in the thread. Null: it is not kept. */
  readonly own: string | null
  /** Under which it is kept whom the thread talks with, by those who were let in. Null: the platform does not confirm the thread. */
  readonly thread: string | null
  /** The thread's agent goes before the draft's. */
  readonly isSticky: boolean
  /** The draft's agent was addressed: the thread talks with it from now on. */
  readonly isAddressed: boolean
  /** Those there are; a thread whose agent is gone has none. */
  readonly agents: readonly string[]
}

/** `again`: another replica claimed the key in the same instant; ask once more to learn its id. */
export type InboxOutcome =
  | {
      readonly kind: 'accepted' | 'duplicate' | 'stale'
      readonly inboxId: string
      readonly flagged: boolean
      /** Of a duplicate: it came under another id, with a proof that was used before. */
      readonly isReplay?: boolean
      readonly taskId?: string
      /** The task that it began. */
      readonly task?: Task
    }
  | { readonly kind: 'busy' }
  /** Of a message about a task: `task_unknown`, `task_over`, or `id_taken` by another message of the same sender. */
  | { readonly kind: 'shut'; readonly reason: string }
  | { readonly kind: 'again' }

export interface InboxStore {
  /** One statement, one commit; outcomes in the order of the drafts. */
  accept(drafts: readonly InboxDraft[]): Promise<readonly InboxOutcome[]>
}
