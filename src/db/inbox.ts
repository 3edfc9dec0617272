// The inbox: messages are deduplicated, stored and queued in one commit.

import type { Bounce } from '../contract/inbound-event.ts'
import type { JsonObject, OnceClaim, ProtocolReply, RecordWrite, Task } from '../contract/index.ts'
import { accept, acceptOnce, acceptWithMore } from './accept.ts'
import { type Db, storableJson } from './client.ts'
import { rowVersion } from './row-version.ts'

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

type AcceptRow = {
  readonly ord: number
  readonly insertedId: string | null
  readonly knownId: string | null
  readonly flagged: boolean
  readonly isReplay: boolean
  readonly taskId: string | null
  readonly task: Task | null
  readonly state: string | null
  readonly isBusy: boolean
  readonly refusal: string | null
}

/** Stores what came together. One statement, one commit; outcomes in the order of the drafts. */
export type AcceptDrafts = (drafts: readonly InboxDraft[]) => Promise<readonly InboxOutcome[]>

export async function storeDrafts(db: Db, drafts: readonly InboxDraft[]): Promise<readonly InboxOutcome[]> {
  const statement = drafts.some(hasMore) ? acceptWithMore : drafts.some(countsOnce) ? acceptOnce : accept
  const rows = await db.accepting.query<AcceptRow>(statement, [serializeDrafts(drafts), db.isShared])
  const byOrdinal = new Map(rows.map((row) => [row.ord, row]))
  return drafts.map(({ state }, ord) => toInboxOutcome(byOrdinal.get(ord), state === 'refused'))
}

function hasMore({ task, also, originals, bounce, effects, sends, cancels, isFarewell }: InboxDraft): boolean {
  const lists = [also, originals, effects, sends]
  return task !== null || bounce !== null || cancels !== null || isFarewell || lists.some(({ length }) => length > 0)
}

function countsOnce({ once }: InboxDraft): boolean {
  return once.length > 0
}

function serializeDrafts(drafts: readonly InboxDraft[]): string {
  return storableJson(drafts.map(draftToRow))
}

/** What is not said is null to the statement: half of the names would stand before nothing, and every byte is sent and parsed. */
function draftToRow(draft: InboxDraft, ord: number): Readonly<Record<keyof InboxDraft | 'ord' | 'v', unknown>> {
  return {
    id: draft.id,
    tenant: draft.tenant,
    connection: draft.connection,
    agent: draft.agent,
    kind: draft.kind,
    state: draft.state,
    reason: draft.reason ?? undefined,
    dedupe: draft.dedupe,
    content: draft.content,
    recipient: draft.recipient ?? undefined,
    subject: draft.subject ?? undefined,
    obligation: draft.obligation ?? undefined,
    messageId: draft.messageId ?? undefined,
    deliveryId: draft.deliveryId ?? undefined,
    event: draft.event,
    editOf: draft.editOf ?? undefined,
    message: draft.message ?? undefined,
    raw: draft.raw ?? undefined,
    replyTo: draft.replyTo ?? undefined,
    bytes: draft.bytes,
    platformAt: draft.platformAt ?? undefined,
    horizonMs: draft.horizonMs,
    traceId: draft.traceId,
    candidates: draft.candidates,
    isVouched: draft.isVouched,
    fresh: draft.fresh,
    replyToken: draft.replyToken ?? undefined,
    isExclusive: draft.isExclusive || undefined,
    isControl: draft.isControl || undefined,
    settleMs: draft.settleMs || undefined,
    routing: draft.routing ?? undefined,
    task: draft.task ?? undefined,
    also: draft.also.length === 0 ? undefined : draft.also,
    originals: draft.originals.length === 0 ? undefined : draft.originals,
    bounce: draft.bounce ?? undefined,
    effects: draft.effects.length === 0 ? undefined : draft.effects,
    sends: draft.sends.length === 0 ? undefined : draft.sends,
    cancels: draft.cancels ?? undefined,
    isFarewell: draft.isFarewell || undefined,
    once: draft.once.length === 0 ? undefined : draft.once,
    arrivalId: draft.once.length === 0 ? undefined : draft.arrivalId,
    copies: draft.copies,
    conversationId: draft.conversationId,
    ord,
    v: rowVersion,
  }
}

/** `isRefused`: it was given as refused; else only what is stale comes out so. */
function toInboxOutcome(row: AcceptRow | undefined, isRefused: boolean): InboxOutcome {
  if (row === undefined) return { kind: 'again' }
  if (row.insertedId !== null) {
    const kind = row.state === 'refused' && !isRefused ? 'stale' : 'accepted'
    const of = row.taskId === null ? {} : { taskId: row.taskId }
    const began = row.task === null ? {} : { task: row.task }
    return { kind, inboxId: row.insertedId, flagged: row.flagged, ...of, ...began }
  }
  if (row.knownId !== null) {
    const again = { kind: 'duplicate', inboxId: row.knownId, flagged: false } as const
    return row.isReplay ? { ...again, isReplay: true } : again
  }
  if (row.refusal !== null) return { kind: 'shut', reason: row.refusal }
  return row.isBusy ? { kind: 'busy' } : { kind: 'again' }
}
