// The inbox on SQL: the accept statement and what its answer means.
import type { Task } from '../contract/index.ts'
import type { InboxDraft, InboxOutcome, InboxStore } from '../inbound/inbox-store.ts'
import type { Database } from './database.ts'
import { rowVersion } from './row-version.ts'
import { accept, acceptOnce, acceptWithMore } from './statements/accept.ts'
import { storableJson } from './storable-json.ts'

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

export function createInboxStore(database: Database): InboxStore {
  return {
    async accept(drafts) {
      const statement = drafts.some(hasMore) ? acceptWithMore : drafts.some(countsOnce) ? acceptOnce : accept
      const rows = await database.accepting.query<AcceptRow>(statement, [serializeDrafts(drafts), database.isShared])
      const byOrdinal = new Map(rows.map((row) => [row.ord, row]))
      return drafts.map(({ state }, ord) => toInboxOutcome(byOrdinal.get(ord), state === 'refused'))
    },
  }
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
